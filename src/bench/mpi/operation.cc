#include "bench/mpi/operation.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/spelling.h"

namespace sennit::bench::mpi {

namespace {

constexpr std::string_view kOsu = "osu_";

struct Names {
  std::string_view own, osu;  ///< OSU's without "osu_"; empty: it has none
};

/// The names stand in the order of Operation.
constexpr auto kNames = std::to_array<Names>({{"latency", "latency"},
                                              {"multi_latency", "multi_lat"},
                                              {"partitioned", "partitioned_latency"},
                                              {"bandwidth", "bw"},
                                              {"bidirectional", "bibw"},
                                              {"multi_pair", "mbw_mr"},
                                              {"put", "put_latency"},
                                              {"get", "get_latency"},
                                              {"accumulate", "acc_latency"},
                                              {"get_accumulate", "get_acc_latency"},
                                              {"fetch_and_op", "fop_latency"},
                                              {"compare_and_swap", "cas_latency"},
                                              {"put_bandwidth", "put_bw"},
                                              {"put_bidirectional", "put_bibw"},
                                              {"get_bandwidth", "get_bw"},
                                              {"exchange", ""},
                                              {"allreduce", "allreduce"},
                                              {"reduce", "reduce"},
                                              {"bcast", "bcast"},
                                              {"allgather", "allgather"},
                                              {"allgatherv", "allgatherv"},
                                              {"alltoall", "alltoall"},
                                              {"alltoallv", "alltoallv"},
                                              {"alltoallw", "alltoallw"},
                                              {"reduce_scatter_block", "reduce_scatter_block"},
                                              {"reduce_scatter", "reduce_scatter"},
                                              {"gather", "gather"},
                                              {"gatherv", "gatherv"},
                                              {"scatter", "scatter"},
                                              {"scatterv", "scatterv"},
                                              {"scan", ""},
                                              {"exscan", ""},
                                              {"barrier", "barrier"},
                                              {"neighbor_allgather", "neighbor_allgather"},
                                              {"neighbor_allgatherv", "neighbor_allgatherv"},
                                              {"neighbor_alltoall", "neighbor_alltoall"},
                                              {"neighbor_alltoallv", "neighbor_alltoallv"},
                                              {"neighbor_alltoallw", "neighbor_alltoallw"}});
constexpr std::size_t kOperations = kNames.size();
static_assert(kOperations == static_cast<std::size_t>(Operation::neighbor_alltoallw) + 1);

constexpr auto kAll = [] {
  std::array<Operation, kOperations> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Operation>(i);
  return all;
}();

bool has(const Benchmark& benchmark) {
  using enum Operation;
  const Operation operation = benchmark.operation;
  if (operation == exchange) return false;  // it needs a pattern, which no name says
  switch (benchmark.style) {
    case Style::blocking: return true;
    case Style::nonblocking: return !is_of_two(operation);
    case Style::persistent:
      return !is_of_two(operation) || operation == latency || operation == bandwidth || operation == bidirectional;
  }
  return false;
}

}  // namespace

std::string name(const Benchmark& benchmark) {
  const std::string own(kNames[static_cast<std::size_t>(benchmark.operation)].own);
  switch (benchmark.style) {
    case Style::nonblocking: return "i" + own;
    case Style::persistent: return benchmark.operation == Operation::latency ? "persistent" : own + "_init";
    case Style::blocking: break;
  }
  return own;
}

std::string osu_name(const Benchmark& benchmark) {
  const std::string_view osu = kNames[static_cast<std::size_t>(benchmark.operation)].osu;
  const bool persistent = benchmark.style == Style::persistent;
  const bool in_two_styles =
      is_of_neighbours(benchmark.operation) || benchmark.operation == Operation::reduce_scatter_block;
  if (osu.empty() || (persistent && in_two_styles)) return {};
  return fmt::format("{}{}{}{}", kOsu, benchmark.style == Style::nonblocking ? "i" : "", osu,
                     persistent ? "_persistent" : "");
}

std::span<const Operation> all_operations() {
  return kAll;
}

std::span<const Benchmark> all_benchmarks() {
  static const std::vector<Benchmark> all = [] {
    std::vector<Benchmark> found;
    for (const Operation operation : kAll)
      for (const Style style : {Style::blocking, Style::nonblocking, Style::persistent})
        if (has({operation, style})) found.push_back({operation, style});
    return found;
  }();
  return all;
}

Result<std::vector<Benchmark>> parse_benchmarks(std::string_view text) {
  const std::string_view asked = text == "broadcast" ? "bcast" : text;
  const auto is_asked = [&](std::string_view name) { return same_but_for_separators(name, asked); };
  std::vector<Benchmark> found;
  for (const Benchmark& each : all_benchmarks()) {
    const std::string osu = osu_name(each);
    const bool by_osu = !osu.empty() && (asked == "osu" || is_asked(osu) || is_asked(osu.substr(kOsu.size())));
    if (by_osu || asked == "all" || is_asked(name(each))) found.push_back(each);
  }
  if (!found.empty()) return found;
  std::string known;
  for (const Operation each : kAll)
    if (has({each, Style::blocking})) known.append(kNames[static_cast<std::size_t>(each)].own).append(", ");
  return Status(Code::invalid_argument, fmt::format("there is no operation '{}'", text), {},
                fmt::format("Use any of {}of collectives also with i before or _init behind, names of OSU's such as "
                            "osu_bw, or the groups osu and all",
                            known));
}

}  // namespace sennit::bench::mpi
