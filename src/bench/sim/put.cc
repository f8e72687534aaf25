#include "bench/sim/put.h"

#include "base/units.h"
#include "bench/sim/report.h"
#include "path/split.h"
#include "sim/put.h"

namespace sennit::bench {

namespace {

/// A put on a machine, as its links make it.
struct OnMachine {
  sim::Put put;
  double limit_gbps = 0;
  sim::Outcome outcome;
};

Result<OnMachine> on_machine(const machine::Machine& machine, const SimulatedPut& asked, std::uint64_t bytes) {
  path::SplitOptions options;
  options.both_ways = asked.both_ways;
  if (!asked.split.empty()) {
    auto forced = path::parse_forced(asked.split);
    if (!forced) return std::move(forced).status().in("--split");
    options.forced = std::move(*forced);
  }
  const auto split = path::split(machine, asked.from, asked.to, bytes, options);
  if (!split) return of_arguments(split.status());

  OnMachine found;
  found.limit_gbps = split->limit_gbps;
  sim::Put& put = found.put;
  if (auto status = set_costs(put.costs, sim::kPutCosts, asked.costs); !status) return status;
  put.from = asked.from;
  put.to = asked.to;
  put.bytes = static_cast<double>(bytes);
  put.window = asked.window;
  put.both_ways = asked.both_ways;
  for (const path::Share& each : split->shares)
    put.split.emplace_back(each.candidate.route.name(), static_cast<double>(each.bytes) / put.bytes);
  auto played = sim::simulate_put(machine, put);
  if (!played) return played.status();
  found.outcome = std::move(*played);
  return found;
}

}  // namespace

Result<Exit> simulate_one_put(const SimulatedPut& asked) {
  const auto machines = machines_of(asked.machine, asked.what_if);
  if (!machines) return machines.status();
  const machine::Machine& machine = machines->now;
  auto bytes = parse_bytes(asked.bytes);
  if (!bytes) return std::move(bytes).status().in("--bytes");
  if (*bytes == 0) return Status(Code::invalid_argument, "of 0 bytes nothing is sent", "--bytes", "Ask for some");
  const auto found = on_machine(machine, asked, *bytes);
  if (!found) return found.status();
  Json before;
  if (machines->before) {
    const auto without = on_machine(*machines->before, asked, *bytes);
    if (!without) return without.status();
    before = without->outcome.us;
  }
  Json shares = Json::array();
  for (const auto& [route, part] : found->put.split) shares.push_back({{"route", route}, {"share", part}});
  const auto routes = path::candidates(machine, asked.from, asked.to, *bytes);
  if (!routes) return routes.status();
  sim::Put single = found->put;
  single.split = {{routes->front().route.name(), 1}};
  const auto alone = sim::simulate_put(machine, single);
  if (!alone) return alone.status();
  print(with_outcome(found->outcome, {{"version", 1},
                                      {"kind", "sim put"},
                                      {"from", asked.from},
                                      {"to", asked.to},
                                      {"bytes", *bytes},
                                      {"window", asked.window},
                                      {"both_ways", asked.both_ways},
                                      {"machine", machine.name},
                                      {"what_if", asked.what_if},
                                      {"split", std::move(shares)},
                                      {"us", found->outcome.us},
                                      {"before_us", std::move(before)},
                                      {"single", single.split.front().first},
                                      {"single_us", alone->us},
                                      {"limit_gbps", found->limit_gbps}}));
  return Exit::ok;
}

}  // namespace sennit::bench
