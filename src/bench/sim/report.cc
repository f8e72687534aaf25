#include "bench/sim/report.h"

namespace sennit::bench {

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
