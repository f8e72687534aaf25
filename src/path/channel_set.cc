#include "path/channel_set.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/units.h"

namespace sennit::path {

namespace {

/// Slots of a ring driven by engines. A default: two hide the hand-over, two more the time the host takes to enqueue.
constexpr unsigned kEngineSlots = 4;
/// A direct share is one chunk, whatever its size.
constexpr std::uint64_t kWholeMessage = ~std::uint64_t{0};
/// Shortest chunk that staging is still worth its while with. A default.
constexpr std::uint64_t kLeastChunk = 64 * KiB;

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

void ChannelSet::give_back(std::uint64_t bytes) {
  budget_.used -= bytes;
  used_ -= bytes;
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
  auto& kept = engines_[name];
  if (kept != nullptr) return kept.get();
  const bool direct = candidate.route.direct();
  const auto hosts = static_cast<std::uint64_t>(std::count(stops.begin() + 1, stops.end() - 1, kHost));
  std::uint64_t slot = direct ? kWholeMessage : most_chunk_;
  while (hosts != 0 && slot > kLeastChunk && budget_.used + hosts * slot * kEngineSlots > budget_.limit) slot /= 2;
  if (auto status = reserve(hosts * slot * kEngineSlots); !status) return status;
  auto made = EngineChannel::create(executor, stops, slot, direct ? 1 : kEngineSlots);
  if (!made) {
    give_back(hosts * slot * kEngineSlots);
    return made.status();
  }
  kept = std::move(*made);
  return kept.get();
}

Result<KernelChannel*> ChannelSet::kernel(device::Executor& executor, const Candidate& candidate,
                                          const std::string& name, const std::vector<int>& stops) {
  auto& kept = kernels_[name];
  if (kept != nullptr) return kept.get();
  KernelChannel::Shape shape;
  if (candidate.blocks > 0) shape.blocks = std::max(shape.blocks, static_cast<unsigned>(candidate.blocks));
  if (auto status = reserve(shape.bytes()); !status) return status;
  auto made = KernelChannel::create(executor, stops.front(), stops.back(), shape);
  if (!made) {
    give_back(shape.bytes());
    return made.status();
  }
  kept = std::move(*made);
  return kept.get();
}

}  // namespace sennit::path
