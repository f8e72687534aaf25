// The mapper that the paper used, where it is installed: libscotch (Pellegrini), opened at run time and never needed.
#pragma once

#include <string>

#include "place/problem.h"

namespace sennit::place {

/// What a run of it gave; its own cost is not asked, ours judges.
struct ScotchMap {
  Map map;
  double ms = 0;        ///< of a processor, for its map and what prepares it; not of starting a process
  bool mended = false;  ///< it put two ranks on one slot, or one where it may not be, and that one went elsewhere
};

/// Maps by libscotch. It runs in a child process: one that crashes, or has another width of integers than it says,
/// takes nothing with it. The seed is fixed. Costs are made those of shortest paths first, since SCOTCH_archBuild
/// reads a matrix as a graph and does so in silence; so its map is of another problem where the triangle inequality
/// does not hold. `library`: a file; empty: where the system has it.
/// Errors: unsupported (not installed; functions missing), timed_out, system_error (it crashed).
Result<ScotchMap> map_by_scotch(const Problem& problem, const std::string& library = {});

/// costs[a × n + b] by the cheapest way from a to b over others (Floyd and Warshall).
std::vector<double> closed_under_paths(std::vector<double> costs, int n);

}  // namespace sennit::place
