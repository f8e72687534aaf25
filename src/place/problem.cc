#include "place/problem.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sennit::place {

bool less(double a, double b) {
  return a < b - 1e-9 * (std::abs(a) + std::abs(b));
}

bool less(const Cost& a, const Cost& b) {
  if (less(a.heaviest_us, b.heaviest_us)) return true;
  return !less(b.heaviest_us, a.heaviest_us) && less(a.sum, b.sum);
}

double cost_between_nodes(const DeviceGraph& graph, Metric metric) {
  double furthest = 1;
  for (int a = 0; a < graph.gpus(); ++a)
    for (int b = 0; b < graph.gpus(); ++b) furthest = std::max(furthest, graph.cost(metric, a, b));
  return 2 * furthest + 1;
}

Problem::Problem(const Traffic& traffic, int slots, std::vector<double> cost)
    : ranks_(traffic.ranks()), slots_(slots), partners_(std::size_t(slots)), cost_(std::move(cost)) {
  // A list a rank, each partner once, in the order of their numbers.
  struct Directed {
    int rank, partner;
    double to, from;
  };
  std::vector<Directed> all;
  for (const Talk& talk : traffic.talks()) {
    all.push_back({talk.from, talk.to, talk.bytes, 0});
    all.push_back({talk.to, talk.from, 0, talk.bytes});
  }
  std::ranges::stable_sort(all, {}, [](const Directed& each) { return std::pair(each.rank, each.partner); });
  for (const Directed& each : all) {
    std::vector<Partner>& of = partners_[std::size_t(each.rank)];
    if (of.empty() || of.back().rank != each.partner) of.push_back({each.partner, 0, 0});
    of.back().to += each.to;
    of.back().from += each.from;
  }
}

Result<Problem> Problem::create(const Traffic& traffic, const DeviceGraph& graph, const Slots& slots, Metric metric,
                                std::span<const Pin> pins) {
  if (traffic.ranks() > slots.size())
    return Status(Code::invalid_argument,
                  fmt::format("{} ranks, and room for {}: {} node{} of {} GPUs, {} rank{} a GPU", traffic.ranks(),
                              slots.size(), slots.nodes, slots.nodes == 1 ? "" : "s", slots.gpus, slots.per_gpu,
                              slots.per_gpu == 1 ? "" : "s"),
                  {}, "Give more nodes (--nodes) or more ranks a GPU (--ranks-per-gpu)");
  const int n = slots.size();
  const double between = cost_between_nodes(graph, metric);
  std::vector<double> cost(std::size_t(n) * std::size_t(n), 0);
  for (int a = 0; a < n; ++a)
    for (int b = 0; b < n; ++b)
      cost[std::size_t(a) * std::size_t(n) + std::size_t(b)] =
          slots.node(a) != slots.node(b) ? between : graph.cost(metric, slots.gpu(a), slots.gpu(b));
  Problem problem(traffic, n, std::move(cost));
  problem.a_node_ = slots.a_node();
  if (metric == Metric::contention) problem.add_resources(graph, slots);
  if (auto status = problem.pin(pins); !status) return status;
  return problem;
}

void Problem::add_resources(const DeviceGraph& graph, const Slots& slots) {
  struct Resource {
    std::uint64_t pairs = 0;  // a hash of those that take it, in their order, and of how much beside the first
    double first = 0;         // that a byte takes of it: of the first pair
    int number = -1;
  };
  const NodeLinks links(graph, slots);
  std::vector<Resource> all(std::size_t(links.count()));
  for (int a = 0; a < slots_; ++a)
    for (int b = 0; b < slots_; ++b)
      links.each(a, b, [&](const Taken& use) {
        Resource& resource = all[std::size_t(use.resource)];
        if (use.us_per_byte <= 0) return;
        if (resource.first <= 0) resource.first = use.us_per_byte;
        for (const std::uint64_t each :
             {std::uint64_t(a * slots_ + b + 1),
              std::uint64_t(std::bit_cast<std::uint32_t>(float(use.us_per_byte / resource.first)))}) {
          resource.pairs = (resource.pairs ^ each) * 0x9e3779b97f4a7c15ull;
          resource.pairs ^= resource.pairs >> 29;
        }
      });
  std::map<std::uint64_t, std::size_t> first;  // of those that the same pairs take: the one that they take most of
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].first <= 0) continue;
    const auto [found, is_new] = first.try_emplace(all[i].pairs, i);
    if (!is_new && all[i].first > all[found->second].first) found->second = i;
  }
  for (const auto& [pairs, one] : first) all[one].number = 0;
  for (Resource& each : all)
    if (each.number == 0) each.number = resources_++;
  for (int a = 0; a < slots_; ++a)
    for (int b = 0; b < slots_; ++b) {
      first_use_.push_back(uses_.size());
      links.each(a, b, [&](const Taken& use) {
        if (const int number = all[std::size_t(use.resource)].number; number >= 0)
          uses_.push_back({number, use.us_per_byte});
      });
    }
  first_use_.push_back(uses_.size());
}

Status Problem::pin(std::span<const Pin> pins) {
  const auto n = std::size_t(slots_);
  if (pins.empty()) return {};
  allowed_.assign(n * n, 1);
  std::vector<char> pinned(n, 0);
  for (const Pin& each : pins) {
    const auto is_slot = [&](int slot) { return slot >= 0 && slot < slots_; };
    if (each.rank < 0 || each.rank >= ranks_ || each.slots.empty() || !std::ranges::all_of(each.slots, is_slot))
      return Status(Code::invalid_argument,
                    fmt::format("rank {} cannot stay on slots {}: there are {} ranks and {} slots", each.rank,
                                fmt::join(each.slots, ", "), ranks_, slots_),
                    {}, "Name a rank of the job and a GPU of the machine");
    if (std::exchange(pinned[std::size_t(each.rank)], 1) != 0)
      return Status(Code::invalid_argument, fmt::format("rank {} is pinned twice", each.rank), {},
                    "Pin each rank once");
    char* const row = &allowed_[std::size_t(each.rank) * n];
    std::fill_n(row, n, 0);
    for (const int slot : each.slots) row[slot] = 1;
  }
  const Map map = identity();
  for (int rank = 0; rank < ranks_; ++rank) {
    if (map[std::size_t(rank)] >= 0) continue;
    const auto room = std::ranges::count(std::span(allowed_).subspan(std::size_t(rank) * n, n), 1);
    return Status(
        Code::invalid_argument,
        fmt::format("rank {} has no room where it has to stay: there is room for {} rank{}, and others have "
                    "to stay there, too",
                    rank, room, room == 1 ? "" : "s"),
        {}, "Make room for more ranks on a GPU (--ranks-per-gpu), or let fewer stay there");
  }
  return {};
}

bool Problem::is_fixed(int rank) const {
  int slots = 0;
  for (int slot = 0; slot < slots_; ++slot) slots += allows(rank, slot) ? 1 : 0;
  return slots == 1;
}

Map Problem::identity() const {
  Map wanted(std::size_t(slots_), 0);
  std::iota(wanted.begin(), wanted.end(), 0);
  return is_pinned() ? fitted(wanted) : wanted;
}

Map Problem::fitted(std::span<const int> wanted) const {
  const auto n = std::size_t(slots_);
  Map map(n, -1);
  std::vector<int> holder(n, -1);
  const auto put = [&](int rank, int slot) {
    map[std::size_t(rank)] = slot;
    holder[std::size_t(slot)] = rank;
  };
  const auto want = [&](int rank) {
    const int slot = wanted[std::size_t(rank)];
    if (slot >= 0 && slot < slots_ && holder[std::size_t(slot)] < 0 && allows(rank, slot)) put(rank, slot);
  };
  std::vector<int> bound, loose;
  for (int rank = 0; rank < slots_; ++rank) {
    const auto row =
        std::span(allowed_).subspan(allowed_.empty() ? 0 : std::size_t(rank) * n, allowed_.empty() ? 0 : n);
    (std::ranges::find(row, 0) != row.end() ? bound : loose).push_back(rank);
  }
  for (const int rank : bound) want(rank);
  // A rank takes its slot from another one that finds a new one: augmenting paths of a bipartite graph (Kuhn).
  std::vector<char> seen(n);
  const auto take = [&](const auto& again, int rank) -> bool {
    for (const bool displaces : {false, true})
      for (int slot = 0; slot < slots_; ++slot) {
        const int other = holder[std::size_t(slot)];
        if (seen[std::size_t(slot)] != 0 || !allows(rank, slot) || (other >= 0) != displaces) continue;
        seen[std::size_t(slot)] = 1;
        if (displaces && !again(again, other)) continue;
        put(rank, slot);
        return true;
      }
    return false;
  };
  for (const int rank : bound) {
    std::ranges::fill(seen, 0);
    if (map[std::size_t(rank)] < 0) take(take, rank);
  }
  for (const int rank : loose) want(rank);
  int next = 0;
  for (const int rank : loose) {
    if (map[std::size_t(rank)] >= 0) continue;
    while (holder[std::size_t(next)] >= 0) ++next;
    put(rank, next);
  }
  return map;
}

std::vector<double> Problem::loads(std::span<const int> map) const {
  std::vector<double> all(std::size_t(resources_), 0);
  if (!has_resources()) return all;
  for (int rank = 0; rank < ranks_; ++rank)
    for (const Partner& partner : partners(rank))
      add_load(*this, partner.to, map[std::size_t(rank)], map[std::size_t(partner.rank)], 1, all);
  return all;
}

Cost Problem::cost_of(std::span<const int> map) const {
  Cost found;
  for (int rank = 0; rank < ranks_; ++rank)
    for (const Partner& partner : partners(rank))
      found.sum += partner.to * cost(map[std::size_t(rank)], map[std::size_t(partner.rank)]);
  for (const double us : loads(map)) found.heaviest_us = std::max(found.heaviest_us, us);
  return found;
}

}  // namespace sennit::place
