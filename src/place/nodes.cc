#include "place/nodes.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace sennit::place {

namespace {

constexpr int kMostSweeps = 60;  // default: over all pairs of ranks; the last ones gain next to nothing

/// Who talks to whom, both directions together, by rank; those made up talk to nobody.
using Talkers = std::vector<std::vector<std::pair<int, double>>>;

Talkers talkers_of(const Traffic& traffic, int slots) {
  std::vector<std::map<int, double>> sums(static_cast<std::size_t>(slots));
  for (const Talk& talk : traffic.talks()) {
    sums[std::size_t(talk.from)][talk.to] += talk.bytes;
    sums[std::size_t(talk.to)][talk.from] += talk.bytes;
  }
  Talkers talkers;
  for (const auto& each : sums) talkers.emplace_back(each.begin(), each.end());
  return talkers;
}

/// A division and what each rank has to do with each node.
class Division {
 public:
  Division(const Talkers& talkers, std::vector<int> node, int nodes)
      : talkers_(talkers), node_(std::move(node)), nodes_(std::size_t(nodes)), with_(node_.size() * nodes_, 0) {
    for (std::size_t rank = 0; rank < node_.size(); ++rank)
      for (const auto& [other, bytes] : talkers_[rank]) with(int(rank), node_[std::size_t(other)]) += bytes;
  }

  const std::vector<int>& node() const { return node_; }
  double between() const {
    double sum = 0;
    for (std::size_t rank = 0; rank < node_.size(); ++rank)
      for (const auto& [other, bytes] : talkers_[rank])
        if (node_[rank] != node_[std::size_t(other)]) sum += bytes / 2;
    return sum;
  }
  /// Exchanges two ranks of different nodes where that saves bytes between nodes.
  bool improve(int a, int b) {
    const int here = node_[std::size_t(a)], there = node_[std::size_t(b)];
    double saved = with(a, there) - with(a, here) + with(b, here) - with(b, there);
    if (saved <= 0) return false;
    for (const auto& [other, bytes] : talkers_[std::size_t(a)])
      if (other == b) saved -= 2 * bytes;
    if (saved <= 1e-9 * (with(a, here) + with(b, there))) return false;
    move(a, here, there);
    move(b, there, here);
    return true;
  }

 private:
  double& with(int rank, int node) { return with_[std::size_t(rank) * nodes_ + std::size_t(node)]; }
  void move(int rank, int from, int to) {
    node_[std::size_t(rank)] = to;
    for (const auto& [other, bytes] : talkers_[std::size_t(rank)]) {
      with(other, from) -= bytes;
      with(other, to) += bytes;
    }
  }

  const Talkers& talkers_;
  std::vector<int> node_;
  std::size_t nodes_;
  std::vector<double> with_;
};

/// Node after node filled with the rank that has most to do with those in it; the first is the one that talks most.
std::vector<int> grow(const Talkers& talkers, const Slots& slots, std::span<const int> locked) {
  const std::size_t n = talkers.size();
  std::vector<int> node(n, -1), room(std::size_t(slots.nodes), slots.a_node());
  for (std::size_t rank = 0; rank < n; ++rank)
    if (locked[rank] >= 0) node[rank] = locked[rank], --room[std::size_t(locked[rank])];
  std::vector<double> total(n, 0);
  for (std::size_t rank = 0; rank < n; ++rank)
    for (const auto& each : talkers[rank]) total[rank] += each.second;
  for (int now = 0; now < slots.nodes; ++now) {
    std::vector<double> near(n, 0);
    const auto join = [&](std::size_t rank) {
      for (const auto& [other, bytes] : talkers[rank]) near[std::size_t(other)] += bytes;
    };
    for (std::size_t rank = 0; rank < n; ++rank)
      if (node[rank] == now) join(rank);
    for (; room[std::size_t(now)] > 0; --room[std::size_t(now)]) {
      std::size_t next = n;
      for (std::size_t rank = 0; rank < n; ++rank)
        // Who has the least to do with all others besides goes first: it would be left alone.
        if (node[rank] < 0 &&
            (next == n || std::pair(near[rank], -total[rank]) > std::pair(near[next], -total[next])))
          next = rank;
      if (next == n) break;
      node[next] = now;
      join(next);
    }
  }
  return node;
}

/// Groups of ranks become larger groups, two, three, … of them at a time, as the size of a node is divided: those
/// with most to do with each other join first. Empty where somebody is locked.
std::vector<int> join_up(const Talkers& talkers, const Slots& slots, std::span<const int> locked) {
  if (std::ranges::any_of(locked, [](int node) { return node >= 0; })) return {};
  const std::size_t n = talkers.size();
  std::vector<int> group(n);
  for (std::size_t rank = 0; rank < n; ++rank) group[rank] = int(rank);
  int groups = int(n);
  for (int left = slots.a_node(), factor = 2; left > 1;) {
    if (left % factor != 0) {
      ++factor;
      continue;
    }
    left /= factor;
    std::map<std::pair<int, int>, double> between;
    for (std::size_t rank = 0; rank < n; ++rank)
      for (const auto& [other, bytes] : talkers[rank])
        if (group[rank] < group[std::size_t(other)]) between[{group[rank], group[std::size_t(other)]}] += bytes;
    std::vector<std::pair<std::pair<int, int>, double>> edges(between.begin(), between.end());
    std::ranges::stable_sort(edges, [](const auto& a, const auto& b) { return a.second > b.second; });
    // Of each group the larger one that it is in by now, and of that its members.
    std::vector<int> joined(std::size_t(groups), -1);
    std::vector<std::vector<int>> members;
    const auto size_of = [&](int each) {
      return joined[std::size_t(each)] < 0 ? 1 : int(members[std::size_t(joined[std::size_t(each)])].size());
    };
    for (const auto& [pair, bytes] : edges) {
      const auto [a, b] = pair;
      const int one = joined[std::size_t(a)], other = joined[std::size_t(b)];
      if ((one >= 0 && one == other) || size_of(a) + size_of(b) > factor) continue;
      std::vector<int> all = one < 0 ? std::vector{a} : members[std::size_t(one)];
      const std::vector<int> more = other < 0 ? std::vector{b} : members[std::size_t(other)];
      all.insert(all.end(), more.begin(), more.end());
      for (const int each : all) joined[std::size_t(each)] = int(members.size());
      if (one >= 0) members[std::size_t(one)].clear();
      if (other >= 0) members[std::size_t(other)].clear();
      members.push_back(std::move(all));
    }
    // Whoever is left over fills up what is not whole, in order; the largest first.
    for (int each = 0; each < groups; ++each)
      if (joined[std::size_t(each)] < 0) members.push_back({each});
    std::erase_if(members, [](const auto& each) { return each.empty(); });
    std::ranges::stable_sort(members, [](const auto& a, const auto& b) { return a.size() > b.size(); });
    std::vector<int> order;
    for (const auto& each : members) order.insert(order.end(), each.begin(), each.end());
    std::vector<int> larger(static_cast<std::size_t>(groups));
    for (std::size_t i = 0; i < order.size(); ++i) larger[std::size_t(order[i])] = int(i) / factor;
    groups /= factor;
    for (int& each : group) each = larger[std::size_t(each)];
  }
  // Nodes in the order of their first ranks: who need not move stays.
  std::vector<int> node(static_cast<std::size_t>(groups), -1), result(n);
  int next = 0;
  for (std::size_t rank = 0; rank < n; ++rank) {
    int& mine = node[std::size_t(group[rank])];
    if (mine < 0) mine = next++;
    result[rank] = mine;
  }
  return result;
}

}  // namespace

std::vector<int> divide(const Traffic& traffic, const Slots& slots, std::span<const int> locked) {
  const Talkers talkers = talkers_of(traffic, slots.size());
  // As a launcher fills nodes, those that are locked exchanged with whoever is there.
  std::vector<int> plain(std::size_t(slots.size()));
  for (int rank = 0; rank < slots.size(); ++rank) plain[std::size_t(rank)] = slots.node(rank);
  for (int rank = 0; rank < slots.size(); ++rank) {
    if (locked[std::size_t(rank)] < 0 || plain[std::size_t(rank)] == locked[std::size_t(rank)]) continue;
    for (int other = 0; other < slots.size(); ++other)
      if (plain[std::size_t(other)] == locked[std::size_t(rank)] &&
          locked[std::size_t(other)] != locked[std::size_t(rank)]) {
        std::swap(plain[std::size_t(rank)], plain[std::size_t(other)]);
        break;
      }
  }
  std::vector<int> best;
  double least = 0;
  for (const std::vector<int>& start : {plain, grow(talkers, slots, locked), join_up(talkers, slots, locked)}) {
    if (start.empty()) continue;
    Division division(talkers, start, slots.nodes);
    bool better = true;
    for (int sweep = 0; better && sweep < kMostSweeps; ++sweep) {
      better = false;
      for (int a = 0; a < traffic.ranks(); ++a) {
        if (locked[std::size_t(a)] >= 0 || talkers[std::size_t(a)].empty()) continue;
        for (int b = 0; b < slots.size(); ++b)
          if (division.node()[std::size_t(a)] != division.node()[std::size_t(b)] && locked[std::size_t(b)] < 0)
            better = division.improve(a, b) || better;
      }
    }
    const double between = division.between();
    if (best.empty() || less(between, least)) best = division.node(), least = between;
  }
  return best;
}

Result<Map> map_by_nodes(const Traffic& traffic, const DeviceGraph& graph, const Slots& slots, Metric metric,
                         std::span<const Pin> pins) {
  if (traffic.ranks() > slots.size()) return Problem::create(traffic, graph, slots, metric, pins).status();
  std::vector<int> locked(std::size_t(slots.size()), -1);
  std::vector<std::vector<int>> stays(std::size_t(slots.size()));
  for (const Pin& pin : pins) {
    const auto is_slot = [&](int slot) { return slot >= 0 && slot < slots.size(); };
    if (pin.rank < 0 || pin.rank >= traffic.ranks() || pin.slots.empty() || !std::ranges::all_of(pin.slots, is_slot))
      return Status(Code::invalid_argument, "a rank that there is not is pinned, or to a slot that there is not", {},
                    "Name a rank of the job and a GPU of the machine");
    const int node = slots.node(pin.slots.front());
    if (std::ranges::count(locked, node) == slots.a_node())
      return Status(Code::invalid_argument,
                    fmt::format("rank {} has no room on node {}: {} other ranks have to stay there, too", pin.rank,
                                node, slots.a_node()),
                    {}, "Make room for more ranks on a GPU (--ranks-per-gpu), or let fewer stay there");
    if (std::ranges::any_of(pin.slots, [&](int slot) { return slots.node(slot) != node; }))
      return Status(Code::unsupported, fmt::format("rank {} is pinned to slots of several nodes", pin.rank), {},
                    "Pin it to one node");
    locked[std::size_t(pin.rank)] = node;
    for (const int slot : pin.slots) stays[std::size_t(pin.rank)].push_back(slot - node * slots.a_node());
  }
  const std::vector<int> node = divide(traffic, slots, locked);
  std::vector<std::vector<int>> ranks(std::size_t(slots.nodes));
  std::vector<int> inside(std::size_t(slots.size()), 0);
  for (int rank = 0; rank < slots.size(); ++rank) {
    inside[std::size_t(rank)] = int(ranks[std::size_t(node[std::size_t(rank)])].size());
    ranks[std::size_t(node[std::size_t(rank)])].push_back(rank);
  }
  std::vector<Traffic> within(std::size_t(slots.nodes), Traffic(slots.a_node()));
  for (const Talk& talk : traffic.talks())
    if (const int here = node[std::size_t(talk.from)]; here == node[std::size_t(talk.to)])
      within[std::size_t(here)].add(inside[std::size_t(talk.from)], inside[std::size_t(talk.to)], talk.bytes,
                                    talk.messages);
  const Slots one{1, slots.gpus, slots.per_gpu};
  Map map(std::size_t(slots.size()), 0);
  for (int now = 0; now < slots.nodes; ++now) {
    std::vector<Pin> here;
    for (const int rank : ranks[std::size_t(now)])
      if (!stays[std::size_t(rank)].empty()) here.push_back({inside[std::size_t(rank)], stays[std::size_t(rank)]});
    const auto problem = Problem::create(within[std::size_t(now)], graph, one, metric, here);
    if (!problem) return problem.status();
    Best best(1);
    search(*problem, slots.nodes > 8 ? SearchEffort{2, 0, 0} : SearchEffort{}, best);
    for (const int rank : ranks[std::size_t(now)])
      map[std::size_t(rank)] = now * slots.a_node() + best.first().map[std::size_t(inside[std::size_t(rank)])];
  }
  return map;
}

double bytes_between(const Traffic& traffic, const Slots& slots, const Map& map) {
  double sum = 0;
  for (const Talk& talk : traffic.talks())
    if (slots.node(map[std::size_t(talk.from)]) != slots.node(map[std::size_t(talk.to)])) sum += talk.bytes;
  return sum;
}

Cost cost_of(const Traffic& traffic, const DeviceGraph& graph, const Slots& slots, Metric metric, const Map& map) {
  const double between = cost_between_nodes(graph, metric);
  const NodeLinks links(graph, slots);
  std::vector<double> loads(std::size_t(links.count()), 0);
  Cost cost;
  for (const Talk& talk : traffic.talks()) {
    const int from = map[std::size_t(talk.from)], to = map[std::size_t(talk.to)];
    cost.sum += talk.bytes *
                (slots.node(from) != slots.node(to) ? between : graph.cost(metric, slots.gpu(from), slots.gpu(to)));
    links.each(from, to, [&](const Taken& use) { loads[std::size_t(use.resource)] += talk.bytes * use.us_per_byte; });
  }
  for (const double us : loads) cost.heaviest_us = std::max(cost.heaviest_us, us);
  return cost;
}

}  // namespace sennit::place
