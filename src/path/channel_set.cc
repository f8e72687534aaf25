#include "path/channel_set.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/units.h"

namespace sennit::path {

namespace {

/// Slots of a ring driven by engines. A default: two hide the hand-over, two more the time the host takes to enqueue.
constexpr unsigned kEngineSlots = 4;
/// Longest chunk: a limit that keeps a ring at 16 MiB. Handing it on takes a tenth of its time on a PCIe 5 link.
constexpr std::uint64_t kMostChunk = 4 * MiB;
/// A direct share is one chunk, whatever its size.
constexpr std::uint64_t kWholeMessage = ~std::uint64_t{0};
/// Bounds of a kernel ring's slot. Below, the signalling costs more than the bytes; above, blocks beside a direct
/// copy slow it down by more than they carry (RingShape).
constexpr std::uint64_t kLeastSlot = 4 * KiB;
constexpr std::uint64_t kMostSlot = 128 * KiB;

}  // namespace

std::uint64_t staging_one_way(std::uint64_t pair) {
  const std::uint64_t rings = 2 * RingShape{}.bytes();
  return pair / 2 > rings ? pair / 2 - rings : 0;
}

ChannelSet::~ChannelSet() {
  budget_.used -= used_;
}

Status ChannelSet::reserve(std::uint64_t bytes) {
  if (budget_.used + bytes > budget_.limit)
    return Status(Code::out_of_memory,
                  fmt::format("staging would take {} of pinned memory, {} are allowed",
                              format_bytes(budget_.used + bytes), format_bytes(budget_.limit)),
                  {}, "Raise SENNIT_STAGING");
  budget_.used += bytes;
  used_ += bytes;
  return {};
}

Result<Carrier> ChannelSet::carrier(device::Executor& executor, const Candidate& candidate, const std::string& name,
                                    const std::vector<int>& stops) {
  Carrier carrier;
  if (candidate.route.method == machine::Method::sm && !candidate.route.direct()) {
    auto made = kernel(executor, candidate, name, stops);
    if (!made) return made.status();
    carrier.kernel = *made;
  } else {
    auto made = engine(executor, candidate, name, stops);
    if (!made) return made.status();
    carrier.engine = *made;
  }
  return carrier;
}

Result<EngineChannel*> ChannelSet::engine(device::Executor& executor, const Candidate& candidate,
                                          const std::string& name, const std::vector<int>& stops) {
  const bool direct = candidate.route.direct();
  const std::uint64_t slot =
      direct ? kWholeMessage : std::clamp<std::uint64_t>(candidate.chunk_bytes, 64 * KiB, kMostChunk);
  auto& kept = engines_[name];
  if (kept.channel != nullptr && kept.channel->slot_bytes() >= slot) return kept.channel.get();
  kept.channel.reset();
  budget_.used -= kept.pinned;
  used_ -= kept.pinned;
  const auto hosts = static_cast<std::uint64_t>(std::count(stops.begin() + 1, stops.end() - 1, kHost));
  kept.pinned = 0;
  if (auto status = reserve(hosts * slot * kEngineSlots); !status) return status;
  kept.pinned = hosts * slot * kEngineSlots;
  auto made = EngineChannel::create(executor, stops, slot, direct ? 1 : kEngineSlots);
  if (!made) return made.status();
  kept.channel = std::move(*made);
  return kept.channel.get();
}

Result<KernelChannel*> ChannelSet::kernel(device::Executor& executor, const Candidate& candidate,
                                          const std::string& name, const std::vector<int>& stops) {
  KernelChannel::Shape shape;
  if (candidate.blocks > 0) shape.blocks = static_cast<unsigned>(candidate.blocks);
  // Cut as the channel will be, or a channel that cannot be as wide as asked would be made anew for every message.
  shape.blocks =
      std::min({shape.blocks, executor.concurrent_blocks(stops.front()), executor.concurrent_blocks(stops.back())});
  shape.slot_bytes = std::clamp(candidate.chunk_bytes / 16 * 16, kLeastSlot, kMostSlot);
  auto& kept = kernels_[name];
  if (kept.channel != nullptr && kept.channel->shape().blocks >= shape.blocks &&
      kept.channel->shape().slot_bytes >= shape.slot_bytes)
    return kept.channel.get();
  kept.channel.reset();
  budget_.used -= kept.pinned;
  used_ -= kept.pinned;
  kept.pinned = 0;
  if (auto status = reserve(shape.bytes()); !status) return status;
  kept.pinned = shape.bytes();
  auto made = KernelChannel::create(executor, stops.front(), stops.back(), shape);
  if (!made) return made.status();
  kept.channel = std::move(*made);
  return kept.channel.get();
}

}  // namespace sennit::path
