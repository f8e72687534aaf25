#include "bench/mpi/operation.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/spelling.h"

namespace sennit::bench::mpi {

namespace {

/// In the order of Operation.
constexpr auto kNames = std::to_array<std::string_view>({"latency",
                                                         "persistent",
                                                         "partitioned",
                                                         "bandwidth",
                                                         "bidirectional",
                                                         "multi_pair",
                                                         "put",
                                                         "get",
                                                         "accumulate",
                                                         "allreduce",
                                                         "iallreduce",
                                                         "allreduce_init",
                                                         "reduce",
                                                         "bcast",
                                                         "allgather",
                                                         "allgatherv",
                                                         "alltoall",
                                                         "alltoallv",
                                                         "reduce_scatter_block",
                                                         "reduce_scatter",
                                                         "gather",
                                                         "gatherv",
                                                         "scatter",
                                                         "scatterv",
                                                         "scan",
                                                         "exscan",
                                                         "barrier"});
static_assert(kNames.size() == static_cast<std::size_t>(Operation::barrier) + 1);

constexpr auto kOperations = [] {
  std::array<Operation, kNames.size()> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Operation>(i);
  return all;
}();

}  // namespace

std::string_view name(Operation operation) {
  return kNames[static_cast<std::size_t>(operation)];
}

std::span<const Operation> all_operations() {
  return kOperations;
}

Result<Operation> parse_operation(std::string_view text) {
  const std::string_view asked = text == "broadcast" ? "bcast" : text;
  const auto is_asked = [&](std::string_view name) { return same_but_for_separators(name, asked); };
  if (const auto found = std::ranges::find_if(kNames, is_asked); found != kNames.end())
    return kOperations[static_cast<std::size_t>(found - kNames.begin())];
  std::string known;
  for (const std::string_view each : kNames) known.append(each).append(", ");
  return Status(Code::invalid_argument, fmt::format("there is no operation '{}'", text), {},
                fmt::format("Use any of {}or all", known));
}

}  // namespace sennit::bench::mpi
