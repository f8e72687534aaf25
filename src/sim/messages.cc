#include "sim/messages.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace sennit::sim {

namespace {

using Id = Graph::Id;

bool is_copy_up(const Message& message) {
  return message.from == message.to && message.from_host;
}

/// Of a rank's messages in a round, so many are named by all that follow; more become one task that stands for them.
constexpr std::size_t kMostAhead = 2;

class Unrolling {
 public:
  Unrolling(Graph& graph, std::size_t ranks, const Send& send)
      : graph_(graph), send_(send), own_(ranks), before_(ranks), now_(ranks), moved_(ranks) {}

  void run(const Rounds& rounds, int chunks);

 private:
  void message(std::span<const Message> copies);
  void copy_up(const Message& each);

  Graph& graph_;
  const Send& send_;
  /// Of each rank, what it did in the round before; its messages in this round of the chunk before; and both of now.
  std::vector<std::vector<Id>> own_, before_, now_, moved_;
};

void Unrolling::message(std::span<const Message> copies) {
  std::vector<Id> needs;
  const auto after = [&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    needs.insert(needs.end(), own_[at].begin(), own_[at].end());
    needs.insert(needs.end(), before_[at].begin(), before_[at].end());
  };
  after(copies.front().from);
  for (const Message& each : copies) after(each.to);
  std::ranges::sort(needs);
  needs.erase(std::unique(needs.begin(), needs.end()), needs.end());
  const Sent sent = send_(copies, needs);
  const auto from = static_cast<std::size_t>(copies.front().from);
  now_[from].push_back(sent.moved);
  moved_[from].push_back(sent.moved);
  for (const Message& each : copies) {
    const auto to = static_cast<std::size_t>(each.to);
    if (to == from) continue;
    now_[to].push_back(sent.ready);
    moved_[to].push_back(sent.moved);
  }
}

/// Out of host memory, where the message has come: the rank's next round does not wait for it.
void Unrolling::copy_up(const Message& each) {
  send_(std::span(&each, 1), own_[static_cast<std::size_t>(each.to)]);
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
        const std::span<const Message> all = round.messages;
        for (std::size_t i = 0, end = 1; i < all.size(); i = end++) {
          while (end < all.size() && is_copy_of(all[end], all[i])) ++end;
          if (is_copy_up(all[i]))
            copy_up(all[i]);
          else
            message(all.subspan(i, end - i));
        }
        for (const std::size_t rank : here) {
          // A rank that only copied goes on from what it copied.
          if (now_[rank].empty()) now_[rank] = own_[rank];
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

namespace {

bool reaches_host(const Fabric& fabric, int place) {
  std::vector<path::Usage> uses;
  const int host = fabric.host_of(place);
  return host >= 0 && fabric.add_way(place, host, machine::Method::sm, 1, uses) &&
         fabric.add_way(host, place, machine::Method::sm, 1, uses);
}

}  // namespace

Ranks all_ranks(const Fabric& fabric, int root) {
  std::vector<int> sockets;  // of each GPU of a node
  for (const machine::Device& device : fabric.network().machine().devices)
    if (device.kind == machine::DeviceKind::gpu) sockets.push_back(device.numa);
  const auto gpus = static_cast<int>(sockets.size());
  Ranks ranks{fabric.nodes() * gpus, gpus, root};
  if (gpus == 0) return ranks;
  std::vector<int> nics;
  ranks.hosts = true;
  for (const int place : places_of(fabric, gpus)) {
    nics.push_back(fabric.nic_of(fabric.device_of(place)));
    ranks.leaders.push_back(static_cast<int>(std::ranges::find(nics, nics.back()) - nics.begin()));
    ranks.hosts = ranks.hosts && reaches_host(fabric, place);
  }
  ranks.network = fabric.nodes() > 1;
  if (ranks.network) return ranks;
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
  const std::vector<int> gpus = fabric.network().gpus();
  std::vector<int> places;
  const auto a_node = static_cast<int>(gpus.size());
  for (int rank = 0; rank < ranks; ++rank)
    places.push_back(fabric.place(rank / a_node, gpus[static_cast<std::size_t>(rank % a_node)]));
  return places;
}

namespace {

/// Puts messages into a graph as `costs` say.
class Sending {
 public:
  Sending(Graph& graph, std::span<const int> places, const MessageCosts& costs, const Fabric& fabric)
      : graph_(graph), places_(places), costs_(costs), fabric_(fabric) {
    // A GPU's memory is busy with one sum, and with one message that a NIC reads: others wait.
    for (std::size_t rank = 0; adds() && rank < places.size(); ++rank) sums_.push_back(graph.add_queue());
    for (std::size_t rank = 0; costs.gpu_read_gbps > 0 && rank < places.size(); ++rank)
      cards_.push_back(graph.add_queue());
  }

  Sent operator()(std::span<const Message> copies, std::span<const Id> needs);

 private:
  bool adds() const { return costs_.reduce_gbps > 0 || costs_.reduce_us > 0; }
  int place(int rank, bool host) const {
    const int gpu = places_[static_cast<std::size_t>(rank)];
    return host ? fabric_.host_of(gpu) : gpu;
  }
  Id add_multicast(Graph::Task task, std::span<const Message> copies, std::span<const Id> needs);
  Sent reduced(const Message& each, Id gone);

  Graph& graph_;
  std::span<const int> places_;
  const MessageCosts& costs_;
  const Fabric& fabric_;
  std::vector<std::uint32_t> sums_, cards_;
  const std::uint32_t within_ = graph_.name("messages within a node"),
                      between_ = graph_.name("messages between nodes"),
                      copies_ = graph_.name("copies between GPU and host"),
                      packets_ = graph_.name("packets of multicasts"), reductions_ = graph_.name("reductions");
};

Sent Sending::operator()(std::span<const Message> copies, std::span<const Id> needs) {
  const Message& each = copies.front();
  Graph::Task task;
  task.from = place(each.from, each.from_host);
  task.to = place(each.to, each.to_host);
  const bool near = fabric_.node_of(task.from) == fabric_.node_of(task.to);
  // Ranks of one host memory have the message there.
  task.bytes = task.from == task.to ? 0 : each.bytes;
  task.us = near ? costs_.message_us : costs_.network_us;
  task.method = machine::Method::sm;
  task.what = each.from == each.to ? copies_ : near ? within_ : between_;
  if (each.from == each.to && each.to_host && costs_.to_host_gbps > 0) task.gbps = costs_.to_host_gbps;
  if (!near && !each.from_host && !cards_.empty()) {
    task.gbps = costs_.gpu_read_gbps;
    task.queue = cards_[static_cast<std::size_t>(each.from)];
  }
  if (each.multicast) {
    const Id gone = add_multicast(task, copies, needs);
    return {gone, gone};
  }
  const Id gone = graph_.add(task, needs);
  return each.reduced && adds() ? reduced(each, gone) : Sent{gone, gone};
}

Id Sending::add_multicast(Graph::Task task, std::span<const Message> copies, std::span<const Id> needs) {
  std::vector<int> to;
  for (const Message& copy : copies) to.push_back(place(copy.to, copy.to_host));
  task.us += task.bytes / costs_.mtu_bytes * std::log(static_cast<double>(places_.size())) / costs_.multicast_a;
  task.what = packets_;
  return graph_.add_multicast(task, std::move(to), needs);
}

Sent Sending::reduced(const Message& each, Id gone) {
  Graph::Task sum;
  sum.from = sum.to = place(each.to, each.to_host);
  sum.bytes = costs_.reduce_gbps > 0 ? each.bytes : 0;
  sum.us = costs_.reduce_us;
  sum.gbps = costs_.reduce_gbps;
  sum.queue = sums_[static_cast<std::size_t>(each.to)];
  sum.what = reductions_;
  return {gone, graph_.add(sum, {gone})};
}

}  // namespace

Graph unroll(std::span<const Rounds> jobs, int chunks, std::span<const int> places, const MessageCosts& costs,
             const Fabric& fabric) {
  Graph graph;
  const Send send = Sending(graph, places, costs, fabric);
  for (const Rounds& job : jobs) unroll(graph, job, chunks, places.size(), send);
  return graph;
}

Graph unroll(const Rounds& of_a_chunk, int chunks, std::span<const int> places, const MessageCosts& costs,
             const Fabric& fabric) {
  return unroll(std::span(&of_a_chunk, 1), chunks, places, costs, fabric);
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
