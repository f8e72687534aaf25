// Lists every route between two memories with what planning needs beside the public Candidate: its cost by size and
// the resources it takes. Internal to path/.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "path/flow.h"
#include "path/network.h"
#include "path/split.h"
#include "path/timing.h"

namespace sennit::path {

struct PlannedRoute {
  Candidate candidate;  ///< startup, rate and chunk as they are when it carries the whole message alone
  Timing timing;
  Flow flow;  ///< its cap is timing.gbps; with both ways, what the answering message takes is in it too

  double alone_us(double bytes) const { return finish_us(timing, bytes, candidate.rate_gbps); }
};

/// The machine as flows see it and all routes between two of its memories, best alone first.
struct Routes {
  Network network;
  int from = 0, to = 0;
  std::vector<PlannedRoute> routes;  ///< never empty
};

/// Errors: as candidates().
Result<Routes> enumerate(const machine::Machine& machine, const std::string& from, const std::string& to,
                         std::uint64_t bytes, bool both_ways);

/// Returns the most GB/s that can leave one memory for another over all links and through all other memories,
/// overheads aside: the maximum flow of the link graph, in which host memory passes bytes on no faster than its
/// limits say.
double limit_gbps(const Network& network, int from, int to, bool both_ways);

}  // namespace sennit::path
