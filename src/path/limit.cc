// Builds the machine's links into a flow network, and finds the maximum flow between two memories.
//
// Each arc becomes a node pair's edge with its capacity. A GPU is its memory: bytes arrive at one node and leave from
// another, with the edge between them limited by what the GPU may receive and send. Host memory is split likewise,
// beside the root complex, which passes traffic between links that allow peer access without touching memory.
#include <algorithm>
#include <limits>

#include "path/flow_graph.h"
#include "path/routes.h"

namespace sennit::path {

using machine::DeviceKind;

namespace {

// Nodes of a device: where bytes enter its memory, where they leave it, its switch or root complex, and the root
// complex for what may only go on to another host's memory.
enum Place { kArrive, kLeave, kPass, kForward, kPlaces };

}  // namespace

int FlowGraph::arrive(int device) {
  return device * kPlaces + kArrive;
}
int FlowGraph::leave(int device) {
  return device * kPlaces + kLeave;
}

FlowGraph flow_graph(const Network& network, bool both_ways) {
  const auto node = [](int device, Place place) { return device * kPlaces + place; };
  const auto leaves_from = [&](const Arc& arc) -> std::vector<Place> {
    if (network.is(arc.from, DeviceKind::gpu)) return {kLeave};
    if (!network.is(arc.from, DeviceKind::host)) return {kPass};
    if (network.is(arc.to, DeviceKind::host)) return {kLeave, kPass, kForward};
    return {kLeave, kPass};
  };
  // Bytes that a link without peer access brings to a root complex go on only to memory. Between root complexes
  // (sockets) the flag says nothing, and what crosses there counts as allowed: the result stays an upper bound.
  const auto arrives_at = [&](const Arc& arc) -> std::vector<Place> {
    if (network.is(arc.to, DeviceKind::gpu)) return {kArrive};
    if (!network.is(arc.to, DeviceKind::host)) return {kPass};
    if (arc.peer_access || network.is(arc.from, DeviceKind::host)) return {kArrive, kPass};
    return {kArrive, kForward};
  };
  FlowGraph graph{network.devices() * kPlaces, {}};
  for (int d = 0; d < network.devices(); ++d)
    if (network.is(d, DeviceKind::gpu) || network.is(d, DeviceKind::host))
      graph.edges.push_back({node(d, kArrive), node(d, kLeave), network.through_memory(d, both_ways)});
  for (std::size_t a = 0; a < network.arcs().size(); ++a) {
    const Arc& arc = network.arcs()[a];
    if (arc.from < 0 || arc.to < 0 || network.is(arc.from, DeviceKind::nic) || network.is(arc.to, DeviceKind::nic))
      continue;
    const int enter = graph.nodes++, exit = graph.nodes++;
    graph.edges.push_back({enter, exit, network.arc_capacity(int(a), both_ways)});
    for (const Place place : leaves_from(arc)) graph.edges.push_back({node(arc.from, place), enter, kUnlimited});
    for (const Place place : arrives_at(arc)) graph.edges.push_back({exit, node(arc.to, place), kUnlimited});
  }
  return graph;
}

double limit_gbps(const Network& network, int from, int to, bool both_ways) {
  FlowGraph graph = flow_graph(network, both_ways);
  const int source = graph.nodes++, sink = graph.nodes++;
  graph.edges.push_back({source, FlowGraph::leave(from), network.out_of_memory(from, both_ways)});
  graph.edges.push_back({FlowGraph::arrive(to), sink, network.into_memory(to, both_ways)});
  return max_flow(graph.nodes, graph.edges, source, sink);
}

}  // namespace sennit::path
