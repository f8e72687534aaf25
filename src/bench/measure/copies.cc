#include "bench/measure/copies.h"

#include <algorithm>

#include <fmt/format.h>

#include "bench/measure/figures.h"
#include "device/launch.h"
#include "path/peer_copy.h"

namespace sennit::bench::measure {

using machine::Curve;
using machine::Method;
using machine::Traffic;

Status run_together(std::span<const Transfer> transfers) {
  for (const Transfer& one : transfers) {
    const path::PeerCopy program{one.dst, one.src, one.bytes};
    auto status = one.method == Method::engine ? one.lane->copy(one.dst, one.src, one.bytes)
                                               : device::launch(*one.lane, program, one.blocks);
    if (!status) return status;
  }
  for (const Transfer& one : transfers)
    if (auto status = one.lane->synchronize(); !status) return status;
  return {};
}

Result<Summary> time_together(Repeat how, std::span<const Transfer> transfers) {
  return repeat(how, [&] { return run_together(transfers); });
}

Result<Transfer> transfer(Rig& rig, const Stop& from, const Stop& to, std::uint64_t bytes, Method method) {
  // The two directions between a GPU and host memory are driven by the same GPU: a lane each.
  auto lane = rig.lane(driver_of(from, to), from.is_host() ? 1 : 0);
  if (!lane) return lane.status();
  const bool threads = rig.executor().kind() == device::Kind::host;
  const unsigned blocks =
      threads ? kPeerCopyThreads : std::min(kPeerCopyBlocks, rig.executor().concurrent_blocks((*lane)->device()));
  return Transfer{*lane, to.destination.data(), from.source.data(), bytes, method, blocks};
}

Curve::Point point(std::uint64_t bytes, const Summary& summary) {
  return {bytes, rounded(summary.median_us), rounded(summary.spread_us), summary.repetitions};
}

namespace {

/// Times a group of copies for every size of the sweep.
template <class Group>
Result<std::vector<Curve::Point>> sizes(Rig& rig, const Sweep& sweep, const Group& group) {
  std::vector<Curve::Point> points;
  for (const std::uint64_t bytes : sweep.sizes) {
    if (bytes > rig.room()) break;
    Result<std::vector<Transfer>> transfers = group(bytes);
    if (!transfers) return transfers.status();
    Repeat how = sweep.repeat;
    // The first size also pays for waking the devices.
    if (points.empty()) how.warm_up += 3;
    const Result<Summary> summary = time_together(how, *transfers);
    if (!summary) return summary.status();
    points.push_back(point(bytes, *summary));
    if (summary->median_us > sweep.longest_us) break;
  }
  return points;
}

}  // namespace

Result<Curve> one_way(Rig& rig, const Stop& from, const Stop& to, Method method, const Sweep& sweep) {
  auto points = sizes(rig, sweep, [&](std::uint64_t bytes) -> Result<std::vector<Transfer>> {
    auto made = transfer(rig, from, to, bytes, method);
    if (!made) return made.status();
    return std::vector<Transfer>{*made};
  });
  if (!points) return std::move(points).status().in(fmt::format("{} → {}", from.id, to.id));
  return Curve{from.id, to.id, method, Traffic::one_way, std::move(*points)};
}

Result<std::vector<Curve>> both_ways(Rig& rig, const Stop& one, const Stop& other, const Sweep& sweep) {
  auto points = sizes(rig, sweep, [&](std::uint64_t bytes) -> Result<std::vector<Transfer>> {
    auto out = transfer(rig, one, other, bytes);
    if (!out) return out.status();
    auto back = transfer(rig, other, one, bytes);
    if (!back) return back.status();
    return std::vector<Transfer>{*out, *back};
  });
  if (!points) return std::move(points).status().in(fmt::format("{} ⇄ {}", one.id, other.id));
  const Curve curve{one.id, other.id, Method::engine, Traffic::both_ways, std::move(*points)};
  Curve reversed = curve;
  std::swap(reversed.from, reversed.to);
  return std::vector<Curve>{curve, reversed};
}

}  // namespace sennit::bench::measure
