// Measures staged and relayed paths, each driven alone: t(n) = startup + n / rate and the shape that measured best.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/measure/copies.h"
#include "bench/measure/verify.h"

namespace sennit::bench::measure {

struct StagedSweep {
  std::vector<std::uint64_t> sizes;   ///< messages timed, ascending; at least two
  std::vector<std::uint64_t> chunks;  ///< method engine: chunk sizes tried
  std::vector<unsigned> blocks;       ///< method sm: blocks a side tried, with every slot size
  std::vector<std::uint64_t> slots;   ///< method sm: slot sizes tried
  Repeat repeat;
};

/// Through host memory or another GPU by copy engines (path::EngineChannel). Verified before it is timed; the chunk
/// with the least geometric mean of times wins. Errors: those of Verifier::check; out_of_memory for the staging ring;
/// invalid_argument when no line could be drawn through the times.
Result<machine::StagedPath> staged_engine(Rig& rig, Verifier& verifier, const Stop& from, const Stop& stage,
                                          const Stop& to, const StagedSweep& sweep);

/// Measures the path between two GPUs through host memory by kernels on both (path::KernelChannel). Errors as above;
/// a kernel that gave up leaves its fault in the executor, which then refuses further work.
Result<machine::StagedPath> staged_kernel(Rig& rig, Verifier& verifier, const Stop& from, const Stop& stage,
                                          const Stop& to, const StagedSweep& sweep);

}  // namespace sennit::bench::measure
