#include "place/cost.h"

#include <algorithm>

namespace sennit::place {

void Best::offer(const Map& map, const Cost& cost) {
  if (all_.size() == most_ && !less(cost, all_.back().cost)) return;
  if (std::ranges::find(all_, map, &Found::map) != all_.end()) return;
  const auto behind = std::ranges::find_if(all_, [&](const Found& each) { return less(cost, each.cost); });
  all_.insert(behind, {map, cost});
  if (all_.size() > most_) all_.pop_back();
}

Walk::Walk(const Problem& problem, Map map) : problem_(&problem), map_(std::move(map)) {
  settle();
  if (cost_.heaviest_us > 0) scale_ = cost_.heaviest_us;
  unevenness_ = unevenness(loads_);
}

/// Reckons anew: what is only ever added to would drift.
void Walk::settle() {
  cost_ = {};
  for (int rank = 0; rank < problem_->ranks(); ++rank)
    for (const Partner& partner : problem_->partners(rank))
      cost_.sum += partner.to * problem_->cost(map_[std::size_t(rank)], map_[std::size_t(partner.rank)]);
  if (!problem_->has_resources()) return;
  loads_ = problem_->loads(map_);
  for (const double us : loads_) cost_.heaviest_us = std::max(cost_.heaviest_us, us);
  unevenness_ = unevenness(loads_);
}

bool Walk::can_swap(int a, int b) const {
  if (a >= problem_->ranks() && b >= problem_->ranks()) return false;
  return !problem_->is_pinned() ||
         (problem_->allows(a, map_[std::size_t(b)]) && problem_->allows(b, map_[std::size_t(a)]));
}

double Walk::sum_change(int a, int b) const {
  const int p = map_[std::size_t(a)], q = map_[std::size_t(b)];
  double change = 0;
  for (const Partner& partner : problem_->partners(a)) {
    const int there = map_[std::size_t(partner.rank)];
    change += partner.rank == b ? problem_->pair_cost(partner, q, p) - problem_->pair_cost(partner, p, q)
                                : problem_->pair_cost(partner, q, there) - problem_->pair_cost(partner, p, there);
  }
  for (const Partner& partner : problem_->partners(b)) {
    if (partner.rank == a) continue;
    const int there = map_[std::size_t(partner.rank)];
    change += problem_->pair_cost(partner, p, there) - problem_->pair_cost(partner, q, there);
  }
  return change;
}

void Walk::move_loads(int a, int b, std::vector<double>& loads) const {
  const int p = map_[std::size_t(a)], q = map_[std::size_t(b)];
  const auto move = [&](const Partner& partner, int from, int to, int there, int then) {
    add_load(*problem_, partner.to, from, there, -1, loads);
    add_load(*problem_, partner.from, there, from, -1, loads);
    add_load(*problem_, partner.to, to, then, 1, loads);
    add_load(*problem_, partner.from, then, to, 1, loads);
  };
  for (const Partner& partner : problem_->partners(a)) {
    const int there = map_[std::size_t(partner.rank)];
    move(partner, p, q, there, partner.rank == b ? p : there);
  }
  for (const Partner& partner : problem_->partners(b)) {
    if (partner.rank == a) continue;
    const int there = map_[std::size_t(partner.rank)];
    move(partner, q, p, there, there);
  }
}

double Walk::unevenness(const std::vector<double>& loads) const {
  double sum = 0;
  for (const double us : loads) {
    const double square = us / scale_ * (us / scale_);
    sum += square * square;
  }
  return sum;
}

void Walk::swap(int a, int b) {
  std::swap(map_[std::size_t(a)], map_[std::size_t(b)]);
  settle();
}

bool Walk::improve(int a, int b, Goal goal) {
  const double change = sum_change(a, b);
  bool better = false;
  if (!problem_->has_resources() || goal == Goal::sum) {
    better = less(cost_.sum + change, cost_.sum);
  } else {
    changed_ = loads_;
    move_loads(a, b, changed_);
    if (goal == Goal::evenness) {
      const double then = unevenness(changed_);
      better = less(then, unevenness_) || (!less(unevenness_, then) && less(cost_.sum + change, cost_.sum));
    } else {
      const double heaviest = *std::ranges::max_element(changed_);
      better = less(Cost{heaviest, cost_.sum + change}, cost_);
    }
  }
  if (better) swap(a, b);
  return better;
}

void Walk::descend(Goal goal, std::int64_t& tries) {
  const int n = problem_->slots();
  for (bool better = true; better && tries > 0;) {
    better = false;
    for (int a = 0; a < std::min(n, problem_->ranks()); ++a)
      for (int b = a + 1; b < n && tries > 0; ++b) {
        if (!can_swap(a, b)) continue;
        --tries;
        better = improve(a, b, goal) || better;
      }
  }
}

}  // namespace sennit::place
