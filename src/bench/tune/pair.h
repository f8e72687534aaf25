// Tunes puts between two devices, in the two processes that will use the result.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "path/one_sided.h"

namespace sennit::bench::tune {

struct PairOptions {
  std::vector<std::uint64_t> sizes;
  int repetitions = 9;    ///< of each measurement; a default that keeps a pair within some seconds
  bool both_ways = true;  ///< also while as much travels back
};

/// Runs on rank 0 and rank 1 of a communicator of two: 0 decides, 1 follows. Returns on rank 0 the entries, best
/// split by size and traffic; empty on rank 1. `report` is told what is being measured. Errors: as OneSided::put.
Result<std::vector<path::TunedPut>> tune_pair(node::Node& node, const PairOptions& options,
                                              const std::function<void(const std::string&)>& report);

/// Tunes puts between a device and pinned host memory, in one process. `to_host`: the direction.
Result<std::vector<path::TunedPut>> tune_host(node::Node& node, bool to_host, const PairOptions& options,
                                              const std::function<void(const std::string&)>& report);

}  // namespace sennit::bench::tune
