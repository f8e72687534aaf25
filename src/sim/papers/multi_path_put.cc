#include "sim/papers/multi_path_put.h"

#include <array>

#include <fmt/format.h>

namespace sennit::sim {

namespace {

using Id = Graph::Id;

}  // namespace

Engines engines_of(Graph& graph) {
  return {graph.add_queue(), graph.add_queue(), graph.add_queue(), graph.add_queue()};
}

// 1. The host asks for the straight copy, then for each chunk's copy to host memory and for that out of it: calls.
// 2. A stream does its two copies one after the other, and each engine one copy after the other.
Id add_put(Graph& graph, const Fabric& fabric, const MultiPathPut& put, const Engines& engines,
           std::span<const Id> needs) {
  const std::uint32_t calls = graph.name("calls"), starts = graph.name("starts of copies");
  const auto call = [&] {
    Graph::Task task;
    task.us = put.costs.call_us;
    task.queue = engines.host;
    task.what = calls;
    return graph.add(task, needs);
  };
  const auto started = [&](Id after) {
    Graph::Task task;
    task.us = put.costs.start_us;
    task.what = starts;
    return graph.add(task, {after});
  };
  const auto copy = [&](int from, int to, double bytes, std::uint32_t engine, std::initializer_list<Id> after) {
    Graph::Task task;
    task.from = from;
    task.to = to;
    task.bytes = bytes;
    task.queue = engine;
    task.method = machine::Method::sm;  // engines are queues here
    return graph.add(task, after);
  };
  std::vector<Id> ends;
  if (const double straight = put.bytes * (1 - put.host_share); straight > 0)
    ends.push_back(copy(put.from, put.to, straight, engines.direct, {started(call())}));
  const int host = fabric.host_of(put.from);
  if (put.host_share > 0)
    for (int stream = 0; stream < put.streams; ++stream) {
      const double bytes = put.bytes * put.host_share / put.streams;
      const Id down = copy(put.from, host, bytes, engines.down, {started(call())});
      ends.push_back(copy(host, put.to, bytes, engines.up, {call(), down}));
    }
  return graph.all(ends);
}

Result<double> bandwidth(const Fabric& fabric, const MultiPathPut& put) {
  if (put.host_share > 0 && fabric.host_of(put.from) < 0)
    return Status(Code::unsupported, "there is no host memory near " + fabric.place_name(put.from), {},
                  "Add one to the machine's file, with the GPU's \"numa\"");
  Graph graph;
  MultiPathPut other = put;
  std::swap(other.from, other.to);
  const std::array<Engines, 2> engines = {engines_of(graph), engines_of(graph)};
  for (int message = 0; message < put.window; ++message) {
    add_put(graph, fabric, put, engines[0], {});
    if (put.both_ways) add_put(graph, fabric, other, engines[1], {});
  }
  const auto played = play(graph, fabric);
  if (!played) return played.status();
  return put.bytes * put.window * (put.both_ways ? 2 : 1) / played->us / kPerGbps;
}

Result<Tuned> tune(const Fabric& fabric, MultiPathPut put) {
  Tuned best;
  for (int percent = 0; percent <= 60; percent += 5)
    for (int streams = 1; streams <= (percent == 0 ? 1 : 8); ++streams) {
      put.host_share = percent / 100.0;
      put.streams = streams;
      const auto gbps = bandwidth(fabric, put);
      if (!gbps) return gbps.status();
      // More streams, or another path, only for more than half a per cent.
      if (*gbps > best.gbps * 1.005) best = {*gbps, put.host_share, streams};
    }
  return best;
}

}  // namespace sennit::sim
