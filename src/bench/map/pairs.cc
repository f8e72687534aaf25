#include "bench/map/pairs.h"

#include "machine/known.h"
#include "place/device_graph.h"

namespace sennit::bench {

Result<Exit> print_pairs(const std::string& named) {
  const auto known = machine::known_machine(named, "");
  if (!known) return of_arguments(known.status());
  const path::Network network(known->machine);
  const auto graph = place::DeviceGraph::create(network);
  if (!graph) return of_arguments(graph.status());
  Json pairs = Json::array();
  for (int a = 0; a < graph->gpus(); ++a)
    for (int b = 0; b < graph->gpus(); ++b) {
      if (a == b) continue;
      const int host = graph->staged_by(a, b);
      Json closeness = Json::object();
      for (const auto metric : {place::Metric::latency, place::Metric::bandwidth, place::Metric::distance})
        closeness[std::string(place::name(metric))] = graph->closeness(metric, a, b);
      pairs.push_back({{"from", network.device(graph->device(a)).id},
                       {"to", network.device(graph->device(b)).id},
                       {"joined", place::name(graph->joined(a, b))},
                       {"level", graph->level(a, b)},
                       {"hops", graph->hops(a, b)},
                       {"staged_by", host < 0 ? std::string() : network.device(host).id},
                       {"closeness", std::move(closeness)},
                       {"us_1mib", graph->copy_us(a, b, 1 << 20, false)}});
    }
  print({{"version", 1},
         {"kind", "map pairs"},
         {"machine", known->machine.name},
         {"levels", graph->levels()},
         {"pairs", std::move(pairs)}});
  return Exit::ok;
}

}  // namespace sennit::bench
