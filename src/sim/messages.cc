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
  Unrolling(std::span<const int> places, const MessageCosts& costs, const Fabric& fabric)
      : places_(places), costs_(costs), fabric_(fabric), own_(places.size()), before_(places.size()) {
    names_ = {graph_.name("messages within a node"), graph_.name("messages between nodes"), graph_.name("reductions")};
  }

  Graph run(const Rounds& rounds, int chunks) &&;

 private:
  void message(const Message& message);

  std::span<const int> places_;
  const MessageCosts& costs_;
  const Fabric& fabric_;
  Graph graph_;
  std::array<std::uint32_t, 3> names_{};
  /// Of each rank, what it did in the round before, and in this round of the chunk before; and now.
  std::vector<std::vector<Id>> own_, before_, now_;
};

void Unrolling::message(const Message& each) {
  const auto from = static_cast<std::size_t>(each.from), to = static_cast<std::size_t>(each.to);
  std::vector<Id> needs;
  for (const std::size_t rank : {from, to}) {
    needs.insert(needs.end(), own_[rank].begin(), own_[rank].end());
    needs.insert(needs.end(), before_[rank].begin(), before_[rank].end());
  }
  std::ranges::sort(needs);
  needs.erase(std::ranges::unique(needs).begin(), needs.end());
  const bool near = fabric_.node_of(places_[from]) == fabric_.node_of(places_[to]);
  Graph::Task task;
  task.from = places_[from];
  task.to = places_[to];
  task.bytes = each.bytes;
  task.us = near ? costs_.message_us : costs_.network_us;
  task.method = machine::Method::sm;
  task.what = names_[near ? 0 : 1];
  const Id sent = graph_.add(task, needs);
  now_[from].push_back(sent);
  Id arrived = sent;
  if (each.reduced && (costs_.reduce_gbps > 0 || costs_.reduce_us > 0)) {
    Graph::Task sum;
    sum.from = sum.to = places_[to];
    sum.bytes = costs_.reduce_gbps > 0 ? each.bytes : 0;
    sum.us = costs_.reduce_us;
    sum.gbps = costs_.reduce_gbps;
    sum.what = names_[2];
    arrived = graph_.add(sum, {sent});
  }
  now_[to].push_back(arrived);
}

Graph Unrolling::run(const Rounds& rounds, int chunks) && {
  std::uint64_t all = 0;
  for (const Round& round : rounds) all += round.times;
  // Chunks inside rounds: what a rank did in a round of the chunk before is then the latest of that round. A graph's
  // order only has to put needs first, so rounds go outside, chunks inside.
  std::vector<std::vector<std::vector<Id>>> front(static_cast<std::size_t>(chunks));
  for (auto& each : front) each.resize(places_.size());
  for (const Round& round : rounds)
    for (std::uint64_t time = 0; time < round.times; ++time) {
      for (auto& each : before_) each.clear();
      for (auto& chunk : front) {
        std::swap(own_, chunk);
        now_.assign(places_.size(), {});
        for (const Message& each : round.messages) message(each);
        for (std::size_t rank = 0; rank < places_.size(); ++rank) {
          if (now_[rank].empty()) {
            // It took no part: what it did before is still the latest.
            now_[rank] = own_[rank];
            continue;
          }
          // Each of a root's many messages would need each of those before.
          if (now_[rank].size() > kMostAhead) now_[rank] = {graph_.all(now_[rank])};
          before_[rank] = now_[rank];
        }
        std::swap(now_, chunk);
      }
    }
  return std::move(graph_);
}

}  // namespace

std::vector<int> places_of(const Fabric& fabric, const Ranks& ranks) {
  std::vector<int> gpus, places;
  for (int device = 0; device < fabric.network().devices(); ++device)
    if (fabric.network().is(device, machine::DeviceKind::gpu)) gpus.push_back(device);
  for (int rank = 0; rank < ranks.all; ++rank)
    places.push_back(fabric.place(rank / ranks.a_node, gpus[static_cast<std::size_t>(rank % ranks.a_node)]));
  return places;
}

Graph unroll(const Rounds& of_a_chunk, int chunks, std::span<const int> places, const MessageCosts& costs,
             const Fabric& fabric) {
  return Unrolling(places, costs, fabric).run(of_a_chunk, chunks);
}

Result<Outcome> fold(const Rounds& rounds, std::span<const int> places, const MessageCosts& costs,
                     const Fabric& fabric) {
  Outcome sum;
  std::map<std::string, double> critical;
  std::map<std::string, Load> loads;
  for (const Round& round : rounds) {
    auto one = play(unroll({{round.messages, 1}}, 1, places, costs, fabric), fabric);
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
