#include "bench/map/document.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "base/units.h"
#include "bench/map/source.h"
#include "bench/sim/report.h"
#include "machine/fingerprint.h"
#include "machine/known.h"
#include "place/pins.h"
#include "sim/choose_map.h"
#include "sim/costs.h"

namespace sennit::bench {

namespace {

constexpr int kMostDrawn = 64;   // ranks whose matrix is in the document
constexpr double kAlike = 0.02;  // pairs that differ by less are alike: copies are measured no better
constexpr double kHeavy = 0.5;   // of the heaviest pair's bytes; a pair with more is called heavy

/// Holds the input of a map: traffic, machine and slots.
struct Job {
  TrafficSource source;
  machine::Machine machine;
  place::Slots slots;
  std::vector<place::Pin> pins;
  sim::ExchangeCosts costs;
};

struct Row {
  std::string name;
  place::Metric metric = place::Metric::contention;
  std::string solver;
  place::Map map;
  double ms = 0;
  std::optional<place::Proof> proof;
  sim::Played played;
};

Result<std::vector<int>> gpus_of(const path::Network& network, const std::vector<std::string>& ids) {
  std::vector<int> gpus;
  for (const std::string& id : ids) {
    const machine::Device* const device = network.machine().find(id);
    const int number = device == nullptr ? -1 : int(device - network.machine().devices.data());
    const bool is_gpu = number >= 0 && device->kind == machine::DeviceKind::gpu;
    if (!is_gpu || std::ranges::find(gpus, number) != gpus.end())
      return Status(Code::invalid_argument,
                    is_gpu ? fmt::format("'{}' is named twice", id)
                           : fmt::format("'{}' is no GPU of machine '{}'", id, network.machine().name),
                    "--gpus", "Use the ids that `sennit topo` shows, each once");
    gpus.push_back(number);
  }
  return gpus;
}

Result<std::vector<place::Solver>> solvers_of(const std::vector<std::string>& texts) {
  if (texts.empty()) return place::Question().solvers;
  std::vector<place::Solver> solvers{place::Solver::identity};
  for (const std::string& text : texts) {
    if (text == "all")
      return std::vector{place::Solver::identity, place::Solver::scotch, place::Solver::swaps, place::Solver::exact};
    auto solver = place::parse_solver(text);
    if (!solver) return std::move(solver).status().in("--solver");
    if (std::ranges::find(solvers, *solver) == solvers.end()) solvers.push_back(*solver);
  }
  return solvers;
}

/// "nodes", or how two GPUs are joined: what a pair of ranks has between it, the further the larger.
struct Apart {
  int rank = 0;
  std::string name;
  bool operator<(const Apart& other) const { return rank < other.rank; }
};

Apart apart(const place::DeviceGraph& graph, const place::Slots& slots, int a, int b) {
  if (slots.node(a) != slots.node(b)) return {100, "between nodes"};
  if (slots.gpu(a) == slots.gpu(b)) return {0, "within a GPU"};
  constexpr std::string_view kWords[] = {"within a board",        "through one switch", "through several switches",
                                         "through a host bridge", "between sockets",    "by NVLink alone"};
  const auto joined = graph.joined(slots.gpu(a), slots.gpu(b));
  // GPUs that NVLink joins do not use what else is between them.
  const auto level = joined == place::Joined::nothing ? 0 : 1 + int(joined);
  return {level, std::string(kWords[std::size_t(joined)])};
}

/// "24 of 32 heavy pairs went between sockets, now none does": of the furthest kind of which there are fewer now.
std::string why_of(const place::DeviceGraph& graph, const place::Slots& slots, const place::Traffic& traffic,
                   const place::Map& before, const place::Map& after) {
  std::map<std::pair<int, int>, double> pairs;
  double most = 0;
  for (const place::Talk& talk : traffic.talks())
    most = std::max(most, pairs[std::minmax(talk.from, talk.to)] += talk.bytes);
  int heavy = 0;
  std::map<int, std::string> names;
  std::map<int, int> was, is;
  for (const auto& [pair, bytes] : pairs) {
    if (bytes < kHeavy * most) continue;
    ++heavy;
    for (const auto& [map, count] : {std::pair(&before, &was), std::pair(&after, &is)}) {
      const Apart found = apart(graph, slots, (*map)[std::size_t(pair.first)], (*map)[std::size_t(pair.second)]);
      names[found.rank] = found.name;
      ++(*count)[found.rank];
    }
  }
  for (auto each = was.rbegin(); each != was.rend(); ++each)
    if (const int now = is[each->first]; now < each->second && each->first > 1)
      return fmt::format("{} of {} heavy pairs went {}, now {}.", each->second, heavy, names[each->first],
                         now == 0 ? std::string("none does") : fmt::format("{} do", now));
  return {};
}

Json json_of(const Row& row, const place::DeviceGraph& graph, const Job& job, double before_us) {
  const place::Cost cost = place::cost_of(job.source.traffic, graph, job.slots, place::Metric::contention, row.map);
  const double sum = place::cost_of(job.source.traffic, graph, job.slots, row.metric, row.map).sum;
  Json bound, proved;
  if (row.proof) {
    bound = {{"heaviest_us", row.proof->bound.heaviest_us}, {"sum", row.proof->bound.sum}};
    // The map that was simulated to be the fastest may be another than the one that was proved to cost least.
    const place::Cost own{row.metric == place::Metric::contention ? cost.heaviest_us : 0, sum};
    proved = row.proof->proved && !place::less(row.proof->bound, own);
  }
  Json map = Json::array();
  for (int rank = 0; rank < job.source.traffic.ranks(); ++rank) map.push_back(row.map[std::size_t(rank)]);
  return {{"name", row.name},
          {"metric", place::name(row.metric)},
          {"solver", row.solver},
          {"heaviest_us", cost.heaviest_us},
          {"heaviest", row.played.loads.empty() ? std::string() : row.played.loads.front().resource},
          {"byte_hops", cost.sum},
          {"cost", sum},
          {"exchange_us", row.played.us},
          {"gain", before_us > 0 ? 1 - row.played.us / before_us : 0},
          {"found_ms", row.ms},
          {"proved", std::move(proved)},
          {"bound", std::move(bound)},
          {"nodes", row.proof ? row.proof->nodes : 0},
          {"map", std::move(map)}};
}

Json json_of(const std::vector<sim::Load>& loads) {
  Json all = Json::array();
  for (const sim::Load& each : loads)
    all.push_back({{"resource", each.resource}, {"bytes", each.bytes}, {"busy", each.busy}});
  return all;
}

Json ranks_of(const place::DeviceGraph& graph, const Job& job, const place::Map& map) {
  Json ranks = Json::array();
  for (int rank = 0; rank < job.source.traffic.ranks(); ++rank) {
    const int slot = map[std::size_t(rank)];
    const machine::Device& device = graph.network().device(graph.device(job.slots.gpu(slot)));
    ranks.push_back({{"rank", rank},
                     {"node", job.slots.node(slot)},
                     {"gpu", device.id},
                     {"uuid", device.uuid},
                     {"pci", device.pci},
                     {"numa", device.numa}});
  }
  return ranks;
}

Json matrix_of(const place::Traffic& traffic) {
  Json rows = Json::array();
  if (traffic.ranks() > kMostDrawn) return rows;
  const std::vector<double> matrix = traffic.matrix();
  const auto n = std::ptrdiff_t(traffic.ranks());
  for (std::ptrdiff_t row = 0; row < n; ++row)
    rows.push_back(std::vector<double>(matrix.begin() + row * n, matrix.begin() + (row + 1) * n));
  return rows;
}

/// One line of what to do, in words.
struct Verdict {
  bool advised = false;
  std::string text;
};

double mean_message(const place::Traffic& traffic) {
  double messages = 0;
  for (const place::Talk& talk : traffic.talks()) messages += talk.messages;
  return messages > 0 ? traffic.bytes() / messages : 0;
}

Verdict verdict_of(const place::DeviceGraph& graph, const Job& job, const sim::ChosenMap& chosen, bool changes) {
  if (job.source.only_collectives)
    return {false, "collectives alone, which do not depend on the order here: any order is as good"};
  if (job.source.traffic.talks().empty()) return {false, "no rank sends to another one: any order is as good"};
  if (job.slots.nodes == 1 && job.slots.per_gpu == 1 && graph.gpus() > 1) {
    const auto difference = graph.difference(mean_message(job.source.traffic));
    // Figures of links that were not measured are no better than their source, so pairs must be exactly alike.
    if (difference.part <= (difference.measured ? kAlike : 0.0))
      return {false, difference.measured
                         ? fmt::format("all pairs alike within {:.1f} % (measured): any order is as good",
                                       100 * difference.part)
                         : "all pairs of GPUs are alike by their links: any order is as good"};
  }
  const double gain = 1 - chosen.after.us / chosen.before.us;
  if (!changes || gain <= 0) return {false, "the order is as good as any that was found: leave it"};
  if (!chosen.is_advised())
    return {false, fmt::format("another order is predicted to be {:.1f} % faster, which is within the {:.0f} % that "
                               "predictions may be off: leave it",
                               100 * gain, 100 * sim::kModelError)};
  return {true, fmt::format("another order is predicted to be {:.0f} % faster", 100 * gain)};
}

/// The rows of the table, the chosen map last but for its name.
struct Mapped {
  std::vector<Row> rows;
  std::size_t chosen = 0;
  sim::ChosenMap choice;
  std::vector<std::string> left_out;
};

Result<Mapped> map_job(const MapAsked& asked, const Job& job, const place::DeviceGraph& graph,
                       const sim::Fabric& fabric, const std::vector<place::Solver>& solvers, place::Metric metric) {
  place::Question question;
  question.traffic = &job.source.traffic;
  question.graph = &graph;
  question.slots = job.slots;
  question.metric = metric;
  question.pins = job.pins;
  question.proof_work = asked.proof_work;
  question.scotch_library = asked.scotch;
  question.solvers = solvers;
  std::erase(question.solvers, place::Solver::scotch);
  auto solution = place::solve(question);
  if (!solution) return of_arguments(solution.status());
  Mapped mapped;
  mapped.left_out = solution->left_out;
  std::vector<place::Found> candidates = solution->best;
  std::optional<place::Answer> paper;
  if (std::ranges::find(solvers, place::Solver::scotch) != solvers.end()) {
    // What the paper does: one of its metrics, and what Scotch makes of it.
    question.metric = metric == place::Metric::contention ? place::Metric::distance : metric;
    question.solvers = {place::Solver::scotch};
    auto found = place::solve(question);
    if (!found) return of_arguments(found.status());
    for (auto& each : found->left_out) mapped.left_out.push_back(std::move(each));
    if (!found->answers.empty()) {
      paper = std::move(found->answers.front());
      candidates.push_back({paper->map, paper->cost});
    }
  }
  const place::Map identity = solution->answers.empty() ? candidates.front().map : solution->answers.front().map;
  // A map that costs no less, neither on a link nor in all, would be faster by the accident of which message is
  // first.
  const auto cost = [&](const place::Map& map) {
    return place::cost_of(job.source.traffic, graph, job.slots, place::Metric::contention, map);
  };
  const place::Cost now = cost(identity);
  std::erase_if(candidates, [&](const place::Found& each) {
    const place::Cost then = cost(each.map);
    return !place::less(then.heaviest_us, now.heaviest_us) && !place::less(then.sum, now.sum);
  });
  candidates.insert(candidates.begin(), {identity, now});
  auto choice = sim::choose_map(fabric, graph, job.slots, job.source.traffic, identity, candidates, job.costs);
  if (!choice) return choice.status();
  mapped.choice = std::move(*choice);
  const int ranks = job.source.traffic.ranks();
  int next = 0;
  const bool is_plain =
      std::all_of(identity.begin(), identity.begin() + ranks, [&](int slot) { return slot == next++; });
  mapped.rows.push_back(
      {is_plain ? "as it is" : "nearest to as it is", metric, "identity", identity, 0, {}, mapped.choice.before});
  if (paper) {
    auto played =
        sim::exchange(fabric, job.source.traffic.talks(),
                      sim::places_of(fabric, graph, job.slots, paper->map, job.source.traffic.ranks()), job.costs);
    if (!played) return played.status();
    mapped.rows.push_back({fmt::format("paper (Scotch, {})", place::name(question.metric)),
                           question.metric,
                           "scotch",
                           paper->map,
                           paper->ms,
                           {},
                           std::move(*played)});
  }
  Row found{
      std::string(place::name(metric)), metric, {}, candidates[mapped.choice.index].map, 0, {}, mapped.choice.after};
  for (const place::Answer& each : solution->answers) {
    if (each.solver == place::Solver::identity) continue;
    found.solver += (found.solver.empty() ? "" : ", ") + std::string(place::name(each.solver));
    // A proof is counted apart: the map is there before it.
    if (each.proof)
      found.proof = each.proof;
    else
      found.ms += each.ms;
  }
  // Whoever asked for one solver alone gets no answer that it did not give.
  if (found.solver.empty() && !paper && !mapped.left_out.empty())
    return Status(Code::unsupported, mapped.left_out.front(), "--solver", "Name another one: --solver swaps,exact");
  if (found.solver.empty()) found.solver = "identity";
  mapped.rows.push_back(std::move(found));
  mapped.chosen = mapped.rows.size() - 1;
  return mapped;
}

}  // namespace

Result<Exit> print_map(const MapAsked& asked) {
  Job job;
  auto source = source_of(asked);
  if (!source) return source.status();
  job.source = std::move(*source);
  auto metric = place::parse_metric(asked.metric);
  if (!metric) return std::move(metric).status().in("--metric");
  const auto solvers = solvers_of(asked.solvers);
  if (!solvers) return solvers.status();
  if (auto status = set_costs(job.costs, sim::kExchangeCosts, asked.costs); !status) return status;
  auto known = machine::known_machine(asked.machine, "");
  if (!known) return of_arguments(known.status());
  job.machine = std::move(known->machine);
  const path::Network network(job.machine);
  auto gpus = gpus_of(network, asked.gpus);
  if (!gpus) return gpus.status();
  const auto graph = place::DeviceGraph::create(network, std::move(*gpus));
  if (!graph) return of_arguments(graph.status());
  job.slots = asked.slots;
  job.slots.gpus = graph->gpus();
  auto pins = place::pins_of(asked.pins, *graph, job.slots);
  if (!pins) return pins.status();
  job.pins = std::move(*pins);
  std::string kept;
  if (asked.keep_sockets) {
    auto sockets = place::pins_to_sockets(job.source.bound, *graph, job.slots, job.pins);
    if (!sockets) return std::move(sockets).status().in("--keep-sockets");
    kept = std::move(sockets->words);
    job.pins.insert(job.pins.end(), sockets->pins.begin(), sockets->pins.end());
  }
  const auto fabric = sim::Fabric::create(job.machine, job.slots.nodes, sim::Costs{}.memory_gbps);
  if (!fabric) return of_arguments(fabric.status());

  auto mapped = map_job(asked, job, *graph, *fabric, *solvers, *metric);
  if (!mapped) return mapped.status();
  Row& chosen = mapped->rows[mapped->chosen];
  const Row& before = mapped->rows.front();
  const auto ranks = std::ptrdiff_t(job.source.traffic.ranks());
  const bool changes = !std::equal(before.map.begin(), before.map.begin() + ranks, chosen.map.begin());
  const Verdict verdict = verdict_of(*graph, job, mapped->choice, changes);
  const double saved_us = before.played.us - chosen.played.us;
  Json rows = Json::array();
  for (const Row& row : mapped->rows) rows.push_back(json_of(row, *graph, job, before.played.us));
  double messages = 0;
  for (const place::Talk& talk : job.source.traffic.talks()) messages += talk.messages;
  print({{"version", 1},
         {"kind", "map"},
         {"machine", job.machine.name},
         {"fingerprint", machine::fingerprint(job.machine)},
         {"nodes", job.slots.nodes},
         {"gpus", job.slots.gpus},
         {"ranks_per_gpu", job.slots.per_gpu},
         {"traffic",
          {{"from", job.source.from},
           {"ranks", job.source.traffic.ranks()},
           {"bytes", job.source.traffic.bytes()},
           {"messages", messages},
           {"assumed", job.source.assumed},
           {"matrix", matrix_of(job.source.traffic)}}},
         {"metric", place::name(*metric)},
         {"mappings", std::move(rows)},
         {"chosen", mapped->chosen},
         {"advised", verdict.advised},
         {"verdict", verdict.text},
         {"why",
          verdict.advised ? why_of(*graph, job.slots, job.source.traffic, before.map, chosen.map) : std::string()},
         {"pays_after", verdict.advised ? Json(std::ceil(chosen.ms * 1e3 / saved_us)) : Json()},
         {"model_error", sim::kModelError},
         {"left_out", mapped->left_out},
         {"kept", kept},
         {"ranks", ranks_of(*graph, job, verdict.advised ? chosen.map : before.map)},
         {"loads", {{"before", json_of(before.played.loads)}, {"after", json_of(chosen.played.loads)}}}});
  return Exit::ok;
}

}  // namespace sennit::bench
