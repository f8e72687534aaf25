#include "coll/operation.h"

#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/spelling.h"

namespace sennit::coll {

namespace {

// The names stand in the order of the enumerations.
constexpr std::array<std::string_view, kOperations> kOperationNames{
    "allreduce", "reduce_scatter", "allgather",    "reduce",   "broadcast", "gather",
    "scatter",   "all_to_all",     "all_to_all_v", "sendrecv", "barrier",
};
constexpr std::array<std::string_view, kAlgorithms> kAlgorithmNames{
    "packets",
    "one_shot_packets",
    "two_shot_packets",
    "direct",
    "two_shot",
    "direct_loads",
    "two_shot_loads",
    "two_shot_whole",
    "direct_whole",
    "two_shot_windows",
    "direct_windows",
    "one_shot",
    "one_shot_loads",
    "one_shot_whole",
    "linear",
    "recursive_doubling",
    "ring",
    "segmented_ring",
    "reduce_scatter_allgather",
    "hierarchical",
    "copy_engines",
    "copy_engines_windows",
    "chain",
    "tree",
    "scatter_allgather",
    "dissemination",
    "knomial_2",
    "knomial_4",
    "knomial_8",
};
static_assert(!kOperationNames.back().empty() && !kAlgorithmNames.back().empty(), "a name for each");
constexpr auto kAllOperations = [] {
  std::array<Operation, kOperations> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Operation>(i);
  return all;
}();
static_assert(kAllOperations.back() == Operation::barrier && int(Algorithm::knomial_8) + 1 == kAlgorithms);

}  // namespace

std::string_view name(Operation operation) {
  return kOperationNames[static_cast<std::size_t>(operation)];
}

std::string_view name(Algorithm algorithm) {
  return kAlgorithmNames[static_cast<std::size_t>(algorithm)];
}

std::span<const Operation> all_operations() {
  return kAllOperations;
}

Result<Operation> parse_operation(std::string_view text) {
  for (const Operation operation : kAllOperations)
    if (same_but_for_separators(name(operation), text)) return operation;
  if (text == "bcast") return Operation::broadcast;  // as MPI calls it
  return Status(Code::invalid_argument, fmt::format("there is no operation \"{}\"", text), {},
                fmt::format("Use one of {}", fmt::join(kOperationNames, ", ")));
}

}  // namespace sennit::coll
