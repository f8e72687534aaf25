// Turns a planned message (path/split.h) into a graph: what its routes do, chunk by chunk, over a machine's links.
//
// 1. The host asks for each route after the other; a route begins when its launches are done.
// 2. A direct route is one copy. A staged or relayed one goes chunk by chunk: a hop takes a chunk when the hop before
// is
//    done with it, and the chunks of a hop follow each other.
// 3. Messages of a window queue for the routes.
// Startups, the rate of a route alone and its chunks are those that planning knows (candidates()); what routes do to
// each other is what the links say.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/play.h"

namespace sennit::sim {

struct PutCosts {
  double issue_us = 2.6;  ///< of each further message of a window, on the host and in the engine: fitted to results/
  double route_us = 8;    ///< until a route is launched after the one before: as planning has it
  double clock_us = 5;  ///< of a startup in the machine's document, which is timed by the host, and not of a put that
                        ///< is timed by the GPU: fitted to results/
};

struct NamedPutCost {
  std::string_view name;
  double PutCosts::*cost;
};
inline constexpr NamedPutCost kPutCosts[] = {
    {"issue_us", &PutCosts::issue_us},
    {"route_us", &PutCosts::route_us},
    {"clock_us", &PutCosts::clock_us},
};

struct Put {
  std::string from, to;  ///< devices
  double bytes = 0;
  std::vector<std::pair<std::string, double>> split;  ///< routes by their names, and their parts of the message
  int window = 1;
  bool both_ways = false;
  PutCosts costs;
};

/// Of all messages. Errors: invalid_argument (parts that do not make 1), those of path::candidates(); not_found (no
/// route of that name: lists them).
Result<Played> simulate_put(const machine::Machine& machine, const Put& put);

}  // namespace sennit::sim
