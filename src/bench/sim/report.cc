#include "bench/sim/report.h"

#include "bench/program.h"
#include "machine/known.h"
#include "sim/what_if.h"

namespace sennit::bench {

Result<Machines> machines_of(const std::string& name, const std::vector<std::string>& what_if) {
  auto known = machine::known_machine(name, "");
  if (!known) return of_arguments(known.status());
  Machines machines{std::move(known->machine), std::nullopt};
  if (!what_if.empty()) machines.before = machines.now;
  for (const std::string& text : what_if)
    if (auto status = sim::apply_what_if(machines.now, text); !status) return std::move(status).in("--what-if");
  return machines;
}

Json with_outcome(const sim::Outcome& outcome, Json document) {
  Json critical = Json::array(), loads = Json::array();
  for (const sim::Critical& each : outcome.critical) critical.push_back({{"what", each.what}, {"us", each.us}});
  for (const sim::Load& each : outcome.loads)
    loads.push_back({{"resource", each.resource}, {"bytes", each.bytes}, {"busy", each.busy}});
  document["critical"] = std::move(critical);
  document["loads"] = std::move(loads);
  return document;
}

}  // namespace sennit::bench
