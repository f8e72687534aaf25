// Times many copies at once: what the whole machine delivers, and what one memory can send and receive over all its
// links.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "bench/measure/copies.h"

namespace sennit::bench::measure {

/// Returns whether the direct path from one memory to another was verified.
using Trusts = std::function<bool(const Stop& from, const Stop& to)>;

/// Times copies of equal length from every GPU to every other over trusted paths. Two ways to issue it are tried for
/// each size and the faster one counts: rounds on one lane a GPU (round r: everyone sends to the r-th next one),
/// which suits switches, and a lane for every pair, which uses all links of a mesh. Empty with fewer than two trusted
/// pairs.
Result<std::vector<machine::Curve>> all_pairs_at_once(Rig& rig, const Trusts& trusts, const Sweep& sweep);

/// Holds the rates of all GPUs together to and from one host, by size.
struct HostAtOnce {
  std::vector<machine::Curve> curves;  ///< to and from every GPU, all_at_once
  std::optional<machine::Figure> read_gbps, write_gbps, read_write_gbps;
};
Result<HostAtOnce> host_at_once(Rig& rig, const Stop& host, const Trusts& trusts, const Sweep& sweep);

/// Holds the rates at which one GPU sends to, and receives from, all its trusted peers at the same time; `bytes`
/// each, or as much as the buffers hold. Absent where no path is trusted.
struct GpuLimits {
  std::optional<machine::Figure> read_gbps, write_gbps;
};
Result<GpuLimits> gpu_limits(Rig& rig, const Stop& gpu, const Trusts& trusts, std::uint64_t bytes, Repeat how);

}  // namespace sennit::bench::measure
