// Computes the least time that a machine's links allow an operation, whatever its algorithm and routes: the cut that
// is the narrowest for what must cross it, found by maximum flows. No latencies: a bound for long messages.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coll/operation.h"
#include "machine/machine.h"

namespace sennit::sim {

/// In µs. Bytes are those of the operation's message, as coll/ has them.
///
/// - broadcast, reduce: what flows between the root and each other rank at once (Edmonds 1973).
/// - allgather, reduce_scatter: the largest rate x at which every rank can send to all, which is when for each rank v
///   a flow of N x from all ranks, x from each, reaches v (ForestColl, Zhao et al. 2024, section 4).
/// - allreduce: a reduce-scatter and an allgather of parts. Adding on the way in switches would allow less.
/// - gather, scatter, all_to_all: what leaves or enters one rank. Other cuts may be narrower: the bound may be low.
///
/// Empty for a barrier, and where some rank reaches no other.
std::optional<double> bound_us(const machine::Machine& machine, const std::vector<std::string>& gpus,
                               coll::Operation operation, double bytes, int root);

}  // namespace sennit::sim
