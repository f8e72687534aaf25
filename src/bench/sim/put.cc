#include "bench/sim/put.h"

#include "base/units.h"
#include "bench/sim/report.h"
#include "machine/known.h"
#include "path/split.h"
#include "sim/put.h"
#include "sim/what_if.h"

namespace sennit::bench {

Result<Exit> simulate_one_put(const SimulatedPut& asked) {
  auto known = machine::known_machine(asked.machine, "");
  if (!known) return of_arguments(known.status());
  machine::Machine& machine = known->machine;
  for (const std::string& text : asked.what_if)
    if (auto status = sim::apply_what_if(machine, text); !status) return std::move(status).in("--what-if");
  auto bytes = parse_bytes(asked.bytes);
  if (!bytes) return std::move(bytes).status().in("--bytes");
  if (*bytes == 0) return Status(Code::invalid_argument, "of 0 bytes nothing is sent", "--bytes", "Ask for some");
  path::SplitOptions options;
  options.both_ways = asked.both_ways;
  if (!asked.split.empty()) {
    auto forced = path::parse_forced(asked.split);
    if (!forced) return std::move(forced).status().in("--split");
    options.forced = std::move(*forced);
  }
  const auto split = path::split(machine, asked.from, asked.to, *bytes, options);
  if (!split) return of_arguments(split.status());

  sim::Put put;
  if (auto status = set_costs(put.costs, sim::kPutCosts, asked.costs); !status) return status;
  put.from = asked.from;
  put.to = asked.to;
  put.bytes = static_cast<double>(*bytes);
  put.window = asked.window;
  put.both_ways = asked.both_ways;
  Json shares = Json::array();
  for (const path::Share& each : split->shares) {
    const double part = static_cast<double>(each.bytes) / put.bytes;
    put.split.emplace_back(each.candidate.route.name(), part);
    shares.push_back({{"route", each.candidate.route.name()}, {"share", part}});
  }
  const auto played = sim::simulate_put(machine, put);
  if (!played) return played.status();
  const auto routes = path::candidates(machine, asked.from, asked.to, *bytes);
  if (!routes) return routes.status();
  sim::Put single = put;
  single.split = {{routes->front().route.name(), 1}};
  const auto alone = sim::simulate_put(machine, single);
  if (!alone) return alone.status();
  print(with_outcome(*played, {{"version", 1},
                               {"kind", "sim put"},
                               {"from", asked.from},
                               {"to", asked.to},
                               {"bytes", *bytes},
                               {"window", asked.window},
                               {"both_ways", asked.both_ways},
                               {"machine", machine.name},
                               {"what_if", asked.what_if},
                               {"split", std::move(shares)},
                               {"us", played->us},
                               {"single", single.split.front().first},
                               {"single_us", alone->us},
                               {"limit_gbps", split->limit_gbps}}));
  return Exit::ok;
}

}  // namespace sennit::bench
