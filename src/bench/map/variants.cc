#include "bench/map/variants.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/units.h"
#include "bench/sim/report.h"
#include "machine/known.h"
#include "place/pattern.h"
#include "place/solve.h"
#include "sim/choose_map.h"
#include "sim/costs.h"

namespace sennit::bench {

namespace {

using place::Metric;

constexpr std::string_view kSharedMemory = "shared_memory";
/// MPI carries so much each way between two processes of a machine that are taken for two nodes: measured from
/// 16 MiB on, on two H200s (results/hgx-h200-4-two-gpus/mpi-mpich-two-nodes-messages.json).
constexpr double kSharedGbps = 7.5;
constexpr std::uint64_t kSeed = 41;  // any: the random map is the same each time

/// Returns the machine with shared memory in the place of its NICs: that is between nodes that are one machine. It
/// carries as much for each rank as its process copies.
machine::Machine with_shared_memory(machine::Machine machine, int ranks_per_gpu) {
  const auto is_nic = [&](const std::string& id) {
    const machine::Device* const device = machine.find(id);
    return device != nullptr && device->kind == machine::DeviceKind::nic;
  };
  std::erase_if(machine.links, [&](const machine::Link& link) { return is_nic(link.from) || is_nic(link.to); });
  std::erase_if(machine.devices,
                [](const machine::Device& device) { return device.kind == machine::DeviceKind::nic; });
  std::vector<std::string> gpus;
  for (const machine::Device& device : machine.devices)
    if (device.kind == machine::DeviceKind::gpu) gpus.push_back(device.id);
  for (const std::string& gpu : gpus) {
    machine::Device nic;
    nic.id = fmt::format("{}_of_{}", kSharedMemory, gpu);
    nic.kind = machine::DeviceKind::nic;
    machine::Link link;
    link.from = gpu;
    link.to = nic.id;
    link.forward_gbps = link.backward_gbps = {kSharedGbps * ranks_per_gpu, machine::Source::measured, 0, {}};
    machine.devices.push_back(std::move(nic));
    machine.links.push_back(std::move(link));
  }
  return machine;
}

struct Setting {
  machine::Machine machine;
  place::Slots slots;
  sim::ExchangeCosts costs;
};

/// Each rank of a job is a slot: rank r is on node r / ranks_per_node, and there on GPU r modulo its GPUs.
Result<place::Slots> slots_of(int ranks, int ranks_per_node, int gpus) {
  const int each = ranks_per_node == 0 ? ranks : ranks_per_node;
  if (ranks % each != 0)
    return Status(Code::invalid_argument, fmt::format("{} ranks are no whole number of nodes of {}", ranks, each),
                  "--ranks-per-node", "Name a number that divides it");
  place::Slots slots{ranks / each, std::min(each, gpus), 1};
  if (each % slots.gpus != 0)
    return Status(Code::invalid_argument, fmt::format("{} ranks do not share {} GPUs alike", each, slots.gpus), {},
                  "Use a pattern of as many ranks as GPUs, or a multiple");
  slots.per_gpu = each / slots.gpus;
  return slots;
}

struct Variant {
  std::string name;
  place::Map map;
  double ms = 0;
};

/// The one that is simulated to be the fastest of the ten that cost least by a metric and of the order as it is.
Result<Variant> mapped_by(Metric metric, const place::Traffic& traffic, const place::DeviceGraph& graph,
                          const sim::Fabric& fabric, const Setting& setting, const place::Map& identity) {
  place::Question question;
  question.traffic = &traffic;
  question.graph = &graph;
  question.slots = setting.slots;
  question.metric = metric;
  question.solvers = {place::Solver::identity, place::Solver::swaps};
  auto solution = place::solve(question);
  if (!solution) return of_arguments(solution.status());
  std::vector<place::Found> candidates = std::move(solution->best);
  candidates.insert(candidates.begin(), {identity, {}});
  auto chosen = sim::choose_map(fabric, graph, setting.slots, traffic, identity, candidates, setting.costs);
  if (!chosen) return chosen.status();
  Variant found{std::string(place::name(metric)), candidates[chosen->index].map};
  for (const place::Answer& each : solution->answers) found.ms += each.ms;
  return found;
}

place::Map shuffled(place::Map map) {
  place::Random random(kSeed);
  for (std::size_t i = map.size(); i > 1; --i) std::swap(map[i - 1], map[std::size_t(random.below(int(i)))]);
  return map;
}

/// The one that is simulated to be the slowest of the ten that have most to go far.
Result<Variant> worst(const place::Traffic& traffic, const place::DeviceGraph& graph, const sim::Fabric& fabric,
                      const Setting& setting, const place::Map& identity) {
  auto problem = place::Problem::create(traffic, graph, setting.slots, Metric::contention);
  if (!problem) return of_arguments(problem.status());
  const int n = problem->slots();
  double most = 0;
  std::vector<double> costs;
  for (int a = 0; a < n; ++a)
    for (int b = 0; b < n; ++b) most = std::max(most, problem->cost(a, b));
  for (int a = 0; a < n; ++a)
    for (int b = 0; b < n; ++b) costs.push_back(a == b ? 0 : most - problem->cost(a, b));
  place::Best best;
  place::search(place::Problem(traffic, n, std::move(costs)), {}, best);
  Variant found{"worst", identity};
  auto chosen = sim::choose_map(fabric, graph, setting.slots, traffic, identity, best.all(), setting.costs);
  if (!chosen) return chosen.status();
  double slowest = chosen->before.us;
  for (std::size_t i = 0; i < chosen->us.size(); ++i)
    if (place::less(slowest, chosen->us[i])) {
      slowest = chosen->us[i];
      found.map = best.all()[i].map;
    }
  return found;
}

Result<Json> case_of(const std::string& pattern, std::uint64_t bytes, const VariantsAsked& asked,
                     const machine::Machine& known, const sim::ExchangeCosts& costs) {
  const auto traffic = place::parse_pattern(pattern, double(bytes));
  if (!traffic) return Status(traffic.status()).in("--pattern");
  const auto gpus = int(std::ranges::count(known.devices, machine::DeviceKind::gpu, &machine::Device::kind));
  if (gpus == 0)
    return Status(Code::unsupported, fmt::format("machine '{}' has no GPUs to map ranks to", known.name), {},
                  "Name a machine that has: --machine dgx-1v");
  auto slots = slots_of(traffic->ranks(), asked.ranks_per_node, gpus);
  if (!slots) return slots.status();
  Setting setting{slots->nodes > 1 ? with_shared_memory(known, slots->per_gpu) : known, *slots, costs};
  const path::Network network(setting.machine);
  std::vector<int> used = network.gpus();
  if (int(used.size()) > slots->gpus) used.resize(std::size_t(slots->gpus));
  const auto graph = place::DeviceGraph::create(network, std::move(used));
  if (!graph) return of_arguments(graph.status());
  const auto fabric = sim::Fabric::create(setting.machine, slots->nodes, sim::Costs{}.memory_gbps);
  if (!fabric) return of_arguments(fabric.status());

  place::Map identity(std::size_t(traffic->ranks()));
  std::iota(identity.begin(), identity.end(), 0);
  std::vector<Variant> variants{{"as it is", identity}};
  const auto add = [&](Variant one) {
    // One that is there already is not measured twice.
    const auto same = std::ranges::find(variants, one.map, &Variant::map);
    if (same == variants.end())
      variants.push_back(std::move(one));
    else
      same->name += ", " + one.name;
  };
  for (const Metric metric : {Metric::contention, Metric::latency, Metric::bandwidth, Metric::distance}) {
    auto one = mapped_by(metric, *traffic, *graph, *fabric, setting, identity);
    if (!one) return one.status();
    add(std::move(*one));
  }
  add({"random", shuffled(identity)});
  auto last = worst(*traffic, *graph, *fabric, setting, identity);
  if (!last) return last.status();
  add(std::move(*last));

  Json rows = Json::array();
  for (const Variant& each : variants) {
    auto played = sim::exchange(*fabric, traffic->talks(),
                                sim::places_of(*fabric, *graph, *slots, each.map, traffic->ranks()), costs);
    if (!played) return played.status();
    const place::Cost cost = place::cost_of(*traffic, *graph, *slots, Metric::contention, each.map);
    rows.push_back({{"name", each.name},
                    {"map", each.map},
                    {"exchange_us", played->us},
                    {"heaviest_us", cost.heaviest_us},
                    {"found_ms", each.ms}});
  }
  return Json{{"pattern", pattern},
              {"bytes", bytes},
              {"ranks", traffic->ranks()},
              {"nodes", slots->nodes},
              {"variants", std::move(rows)}};
}

}  // namespace

Result<Exit> print_variants(const VariantsAsked& asked) {
  sim::ExchangeCosts costs;
  if (auto status = set_costs(costs, sim::kExchangeCosts, asked.costs); !status) return status;
  std::vector<std::uint64_t> sizes;
  for (const std::string& text : asked.sizes.empty() ? std::vector<std::string>{"1M"} : asked.sizes) {
    const auto bytes = parse_bytes(text);
    if (!bytes) return Status(bytes.status()).in("--sizes");
    if (*bytes == 0)
      return Status(Code::invalid_argument, "messages of no bytes need no map", "--sizes", "Name a size such as 1M");
    sizes.push_back(*bytes);
  }
  const auto known = machine::known_machine(asked.machine, "");
  if (!known) return of_arguments(known.status());
  Json cases = Json::array();
  for (const std::string& pattern : asked.patterns)
    for (const std::uint64_t bytes : sizes) {
      auto one = case_of(pattern, bytes, asked, known->machine, costs);
      if (!one) return one.status();
      cases.push_back(std::move(*one));
    }
  print({{"version", 1}, {"kind", "map variants"}, {"machine", known->machine.name}, {"cases", std::move(cases)}});
  return Exit::ok;
}

}  // namespace sennit::bench
