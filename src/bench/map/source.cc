#include "bench/map/source.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/units.h"
#include "place/pattern.h"
#include "place/read_traffic.h"
#include "sim/rounds.h"

namespace sennit::bench {

namespace {

/// How a collective of MPI is taken to work where nothing recorded says it: messages whose partners follow the order
/// of ranks. NCCL's are left out: it puts its rings and trees on the links itself, whatever the order.
struct Assumed {
  std::string_view function;
  coll::Operation operation;
  std::string_view algorithm;
  std::string_view words;
  bool parts;  ///< the operation's message is a rank's part of what was counted
};
constexpr Assumed kAssumed[] = {
    {"MPI_Allreduce", coll::Operation::allreduce, "ring", "a ring", false},
    {"MPI_Iallreduce", coll::Operation::allreduce, "ring", "a ring", false},
    {"MPI_Allgather", coll::Operation::allgather, "ring", "a ring", true},
    {"MPI_Allgatherv", coll::Operation::allgather, "ring", "a ring", true},
    {"MPI_Reduce_scatter_block", coll::Operation::reduce_scatter, "ring", "a ring", true},
    {"MPI_Reduce_scatter", coll::Operation::reduce_scatter, "ring", "a ring", true},
    {"MPI_Bcast", coll::Operation::broadcast, "tree", "a binomial tree from rank 0", false},
    {"MPI_Reduce", coll::Operation::reduce, "tree", "a binomial tree to rank 0", false},
    {"MPI_Alltoall", coll::Operation::all_to_all, "direct", "messages between all pairs", true},
};

void add_collective(TrafficSource& source, const place::Collective& collective) {
  const auto* const assumed = std::ranges::find(kAssumed, collective.function, &Assumed::function);
  if (assumed == std::end(kAssumed)) return;
  const auto algorithm = sim::message_algorithm(assumed->operation, assumed->algorithm);
  const int ranks = source.traffic.ranks();
  if (!algorithm || ranks < 2) return;
  const double bytes = assumed->parts ? collective.bytes / ranks : collective.bytes;
  std::map<std::pair<int, int>, std::pair<double, double>> sums;
  for (const sim::Round& round : algorithm->rounds({ranks, ranks, 0}, bytes))
    for (const sim::Message& message : round.messages) {
      auto& [sum, count] = sums[{message.from, message.to}];
      sum += message.bytes * double(round.times);
      count += double(round.times);
    }
  for (const auto& [pair, sum] : sums)
    source.traffic.add(pair.first, pair.second, sum.first * collective.calls, sum.second * collective.calls);
  std::string words = fmt::format("{} by {}", assumed->function, assumed->words);
  if (std::ranges::find(source.assumed, words) == source.assumed.end()) source.assumed.push_back(std::move(words));
}

Result<TrafficSource> of_profile(const std::string& file) {
  const auto document = read_json(file);
  if (!document) return of_arguments(document.status());
  auto profiled = place::traffic_of(*document, file);
  if (!profiled) return of_arguments(profiled.status());
  TrafficSource source;
  source.traffic = std::move(profiled->traffic);
  source.bound = std::move(profiled->bound);
  source.from = fmt::format("a profile of {} ranks", source.traffic.ranks());
  source.only_collectives = source.traffic.talks().empty() && !profiled->collectives.empty();
  if (source.only_collectives) return source;
  for (const place::Collective& each : profiled->collectives) add_collective(source, each);
  return source;
}

}  // namespace

Result<TrafficSource> source_of(const MapAsked& asked) {
  if (int(!asked.pattern.empty()) + int(!asked.matrix.empty()) + int(!asked.profile.empty()) != 1)
    return Status(Code::invalid_argument, "what the ranks send is not given, or more than once", {},
                  "Give one of --pattern, --matrix and --profile");
  if (!asked.profile.empty()) return of_profile(asked.profile);
  TrafficSource source;
  if (!asked.pattern.empty()) {
    auto bytes = parse_bytes(asked.size);
    if (!bytes) return std::move(bytes).status().in("--size");
    if (*bytes == 0)
      return Status(Code::invalid_argument, "messages of no bytes need no map", "--size", "Name a size such as 1M");
    auto traffic = place::parse_pattern(asked.pattern, double(*bytes));
    if (!traffic) return std::move(traffic).status().in("--pattern");
    source.traffic = std::move(*traffic);
    source.from = fmt::format("{}, {}", asked.pattern, format_bytes(*bytes));
    return source;
  }
  auto traffic = place::read_traffic({asked.matrix.begin(), asked.matrix.end()});
  if (!traffic) return of_arguments(traffic.status());
  source.traffic = std::move(*traffic);
  const auto slash = asked.matrix.front().find_last_of('/');
  source.from = slash == std::string::npos ? asked.matrix.front() : asked.matrix.front().substr(slash + 1);
  return source;
}

}  // namespace sennit::bench
