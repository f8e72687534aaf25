// Which allreduces over several nodes are faster by rails than by NCCL alone: tried when the communicator is made.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "comm/exchange.h"
#include "path/node.h"

namespace sennit::shim::nccl {

/// One size, as the slowest rank had it.
struct Tried {
  std::uint64_t bytes = 0;
  double nccl_us = 0, rails_us = 0;
};

/// Whether messages of `bytes` go by rails: where the sizes around were faster so, beyond the noise; those that are
/// longer than all, as the longest, and shorter ones never. `tried`: ascending. Pure.
bool by_rails(std::span<const Tried> tried, std::uint64_t bytes);

/// Enqueues an allreduce of float32 sums on the node's lane, from input to output.
using Enqueued = std::function<Status(const std::byte* input, std::byte* output, std::uint64_t bytes)>;

/// Collective over the ranks of `all`, of all nodes. Both ways are called by turns; the rails' results are looked at
/// before they are timed. Errors, the same on every rank: corrupt where rails gave wrong sums; out_of_memory; those
/// of the calls, and timed_out.
Result<std::vector<Tried>> try_out(comm::Exchange& all, path::Node& node, const Enqueued& nccl, const Enqueued& rails,
                                   std::span<const std::uint64_t> sizes);

}  // namespace sennit::shim::nccl
