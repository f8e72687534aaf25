#include "sim/messages.h"

#include <algorithm>
#include <map>

namespace sennit::sim {

namespace {

using Id = Graph::Id;

/// Of a rank's messages in a round, so many are named by all that follow; more become one task that stands for them.
constexpr std::size_t kMostAhead = 2;

class Unrolling {
 public:
  Unrolling(Graph& graph, std::size_t ranks, const Send& send)
      : graph_(graph), send_(send), own_(ranks), before_(ranks), now_(ranks), moved_(ranks) {}

  void run(const Rounds& rounds, int chunks);

 private:
  void message(const Message& each);

  Graph& graph_;
  const Send& send_;
  /// Of each rank, what it did in the round before; its messages in this round of the chunk before; and both of now.
  std::vector<std::vector<Id>> own_, before_, now_, moved_;
};

void Unrolling::message(const Message& each) {
  const auto from = static_cast<std::size_t>(each.from), to = static_cast<std::size_t>(each.to);
  std::vector<Id> needs;
  for (const std::size_t rank : {from, to}) {
    needs.insert(needs.end(), own_[rank].begin(), own_[rank].end());
    needs.insert(needs.end(), before_[rank].begin(), before_[rank].end());
  }
  std::ranges::sort(needs);
  needs.erase(std::unique(needs.begin(), needs.end()), needs.end());
  const Sent sent = send_(each, needs);
  now_[from].push_back(sent.moved);
  now_[to].push_back(sent.ready);
  moved_[from].push_back(sent.moved);
  moved_[to].push_back(sent.moved);
}

// Rounds go outside and chunks inside: a graph's order only has to put first what others need. Of all ranks only
// those are touched that take part in a round.
void Unrolling::run(const Rounds& rounds, int chunks) {
  std::vector<std::vector<std::vector<Id>>> fronts(static_cast<std::size_t>(chunks));
  for (auto& each : fronts) each.resize(own_.size());
  std::vector<std::size_t> here;
  for (const Round& round : rounds) {
    here.clear();
    for (const Message& each : round.messages)
      for (const int rank : {each.from, each.to}) here.push_back(static_cast<std::size_t>(rank));
    std::ranges::sort(here);
    here.erase(std::unique(here.begin(), here.end()), here.end());
    for (std::uint64_t time = 0; time < round.times; ++time) {
      for (const std::size_t rank : here) before_[rank].clear();
      for (auto& front : fronts) {
        for (const std::size_t rank : here) {
          std::swap(own_[rank], front[rank]);
          now_[rank].clear();
          moved_[rank].clear();
        }
        for (const Message& each : round.messages) message(each);
        for (const std::size_t rank : here) {
          // Each of a root's many messages would need each of those before.
          for (auto* const each : {&now_[rank], &moved_[rank]})
            if (each->size() > kMostAhead) *each = {graph_.all(*each)};
          std::swap(front[rank], now_[rank]);
          std::swap(before_[rank], moved_[rank]);
        }
      }
    }
  }
}

}  // namespace

void unroll(Graph& graph, const Rounds& of_a_chunk, int chunks, std::size_t ranks, const Send& send) {
  Unrolling(graph, ranks, send).run(of_a_chunk, chunks);
}

Ranks all_ranks(const Fabric& fabric, int root) {
  std::vector<int> sockets;  // of each GPU of a node
  for (const machine::Device& device : fabric.network().machine().devices)
    if (device.kind == machine::DeviceKind::gpu) sockets.push_back(device.numa);
  const auto gpus = static_cast<int>(sockets.size());
  Ranks ranks{fabric.nodes() * gpus, gpus, root};
  if (fabric.nodes() > 1 || gpus == 0) return ranks;
  const auto first = std::ranges::count(sockets, sockets.front());
  bool even = gpus % first == 0;
  for (std::size_t i = 0; even && i < sockets.size(); ++i) {
    const auto lead = i / static_cast<std::size_t>(first) * static_cast<std::size_t>(first);
    even = sockets[i] == sockets[lead] && (i != lead || std::ranges::count(sockets, sockets[i]) == first);
  }
  if (even) ranks.a_node = static_cast<int>(first);
  return ranks;
}

std::vector<int> places_of(const Fabric& fabric, int ranks) {
  std::vector<int> gpus, places;
  for (int device = 0; device < fabric.network().devices(); ++device)
    if (fabric.network().is(device, machine::DeviceKind::gpu)) gpus.push_back(device);
  const auto a_node = static_cast<int>(gpus.size());
  for (int rank = 0; rank < ranks; ++rank)
    places.push_back(fabric.place(rank / a_node, gpus[static_cast<std::size_t>(rank % a_node)]));
  return places;
}

Graph unroll(const Rounds& of_a_chunk, int chunks, std::span<const int> places, const MessageCosts& costs,
             const Fabric& fabric) {
  Graph graph;
  const std::uint32_t within = graph.name("messages within a node"), between = graph.name("messages between nodes"),
                      reductions = graph.name("reductions");
  const bool adds = costs.reduce_gbps > 0 || costs.reduce_us > 0;
  // A GPU's memory is busy with one sum: others wait.
  std::vector<std::uint32_t> sums;
  for (std::size_t rank = 0; adds && rank < places.size(); ++rank) sums.push_back(graph.add_queue());
  const auto send = [&](const Message& each, std::span<const Id> needs) -> Sent {
    const int from = places[static_cast<std::size_t>(each.from)], to = places[static_cast<std::size_t>(each.to)];
    const bool near = fabric.node_of(from) == fabric.node_of(to);
    Graph::Task task;
    task.from = from;
    task.to = to;
    task.bytes = each.bytes;
    task.us = near ? costs.message_us : costs.network_us;
    task.method = machine::Method::sm;
    task.what = near ? within : between;
    const Id gone = graph.add(task, needs);
    if (!each.reduced || !adds) return {gone, gone};
    Graph::Task sum;
    sum.from = sum.to = to;
    sum.bytes = costs.reduce_gbps > 0 ? each.bytes : 0;
    sum.us = costs.reduce_us;
    sum.gbps = costs.reduce_gbps;
    sum.queue = sums[static_cast<std::size_t>(each.to)];
    sum.what = reductions;
    return {gone, graph.add(sum, {gone})};
  };
  unroll(graph, of_a_chunk, chunks, places.size(), send);
  return graph;
}

Result<Outcome> fold(const Rounds& rounds, std::span<const int> places, const MessageCosts& costs,
                     const Fabric& fabric, double epsilon_us) {
  Outcome sum;
  std::map<std::string, double> critical;
  std::map<std::string, Load> loads;
  for (const Round& round : rounds) {
    auto one = play(unroll({{round.messages, 1}}, 1, places, costs, fabric), fabric, epsilon_us);
    if (!one) return one.status();
    const auto times = static_cast<double>(round.times);
    sum.us += one->us * times;
    sum.flows += one->flows;
    for (const Critical& each : one->critical) critical[each.what] += each.us * times;
    for (const Load& each : one->loads) {
      Load& load = loads.try_emplace(each.resource, Load{each.resource, 0, 0}).first->second;
      load.bytes += each.bytes * times;
      load.busy += each.busy * one->us * times;
    }
  }
  for (const auto& [what, us] : critical) sum.critical.push_back({what, us});
  for (auto& [name, load] : loads) {
    load.busy = sum.us > 0 ? load.busy / sum.us : 0;
    sum.loads.push_back(load);
  }
  std::ranges::stable_sort(sum.critical, std::greater<>(), &Critical::us);
  std::ranges::stable_sort(sum.loads, std::greater<>(), &Load::busy);
  return sum;
}

}  // namespace sennit::sim
