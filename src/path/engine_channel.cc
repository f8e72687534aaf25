#include "path/engine_channel.h"

#include <algorithm>

namespace sennit::path {

std::uint64_t next_chunk(std::uint64_t bytes, std::uint64_t done, std::uint64_t before, std::uint64_t chunk) {
  const std::uint64_t remaining = bytes - done;
  const std::uint64_t least = std::min(kFirstChunk, chunk);
  const std::uint64_t growing = before == 0 ? least : before > chunk / 2 ? chunk : 2 * before;
  // Cut to the first chunk's multiples, so that chunks keep the alignment of the whole.
  const std::uint64_t shrinking = std::max(least, remaining / 2 / least * least);
  return std::min({chunk, remaining, std::max(least, std::min(growing, shrinking))});
}

Result<std::unique_ptr<EngineChannel>> EngineChannel::create(device::Executor& executor, std::vector<int> stops,
                                                             std::uint64_t slot_bytes, unsigned slots) {
  std::unique_ptr<EngineChannel> channel(new EngineChannel());
  channel->slot_bytes_ = slot_bytes;
  channel->slots_ = slots;
  channel->even_hops_ = stops.front() != kHost && stops.back() != kHost;
  for (std::size_t hop = 0; hop + 1 < stops.size(); ++hop) {
    const int driver = stops[hop] != kHost ? stops[hop] : stops[hop + 1];
    // Without access an engine copies by way of the host behind our back, on the very links we mean to spare.
    if (stops[hop] != kHost && stops[hop + 1] != kHost && !executor.reaches(stops[hop], stops[hop + 1]))
      return Status(Code::unsupported, "a device on the way cannot reach the next", {},
                    "`sennit topo` shows which can");
    auto lane = executor.lane(driver == kHost ? 0 : driver);
    if (!lane) return lane.status();
    channel->lanes_.push_back(std::move(*lane));
    auto& events = channel->copied_.emplace_back();
    for (unsigned s = 0; s < slots; ++s) {
      auto event = executor.event(channel->lanes_.back()->device());
      if (!event) return event.status();
      events.push_back(std::move(*event));
    }
  }
  for (std::size_t stop = 1; stop + 1 < stops.size(); ++stop) {
    auto memory = stops[stop] == kHost ? executor.allocate_pinned(slot_bytes * slots)
                                       : executor.allocate(stops[stop], slot_bytes * slots);
    if (!memory) return std::move(memory).status().in("staging memory");
    channel->staging_.push_back(std::move(*memory));
  }
  return channel;
}

Status EngineChannel::start(End dst, End src, std::uint64_t bytes, std::uint64_t chunk, device::Event* fork) {
  dst_ = dst;
  src_ = src;
  bytes_ = bytes;
  at_ = 0;
  before_ = 0;
  chunk_ = std::min(chunk, slot_bytes_);
  if (fork == nullptr) return {};
  for (auto& lane : lanes_)
    if (auto status = lane->wait(*fork); !status) return status;
  return {};
}

Status EngineChannel::hop(std::size_t number) {
  device::Lane& lane = *lanes_[number];
  const std::uint64_t slot = next_ % slots_;
  const bool last = number + 1 == lanes_.size();
  std::byte* const to = last ? dst_.seen_from(lane.device()) + at_ : slot_at(number, slot);
  const std::byte* const from = number == 0 ? src_.seen_from(lane.device()) + at_ : slot_at(number - 1, slot);
  if (number > 0)
    if (auto status = lane.wait(*copied_[number - 1][slot]); !status) return status;
  if (!last && next_ >= slots_)
    if (auto status = lane.wait(*copied_[number + 1][slot]); !status) return status;
  if (auto status = lane.copy(to, from, size_); !status) return status;
  return lane.record(*copied_[number][slot]);
}

Status EngineChannel::begin_chunk() {
  if (lanes_.size() == 1)
    size_ = bytes_;
  else if (even_hops_)
    size_ = next_chunk(bytes_, at_, before_, chunk_);
  else
    size_ = std::min(chunk_, bytes_ - at_);
  return hop(0);
}

Status EngineChannel::end_chunk() {
  for (std::size_t number = 1; number < lanes_.size(); ++number)
    if (auto status = hop(number); !status) return status;
  at_ += size_;
  before_ = size_;
  ++next_;
  return {};
}

Status EngineChannel::step() {
  if (auto status = begin_chunk(); !status) return status;
  return end_chunk();
}

Status EngineChannel::join(device::Lane& lane) {
  if (bytes_ == 0) return {};
  return lane.wait(*copied_.back()[(next_ - 1) % slots_]);
}

}  // namespace sennit::path
