#include "place/exact.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "place/cuts.h"
#include "place/symmetry.h"

namespace sennit::place {

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr int kSymmetricDepth = 6;  // default: with more ranks placed hardly one but of twins is left

bool at_least(const Cost& bound, const Cost& best) {
  return !less(bound, best);
}

class Prover {
 public:
  Prover(const Problem& problem, std::uint64_t work, Best& best)
      : problem_(problem),
        symmetry_(problem),
        best_(best),
        work_(work),
        n_(problem.slots()),
        least_us_(least_heaviest_us(problem)),
        map_(std::size_t(n_), -1) {
    floor_.resize(std::size_t(n_) * std::size_t(n_));
    for (int a = 0; a < n_; ++a)
      for (int b = 0; b < n_; ++b)
        floor_[std::size_t(a) * std::size_t(n_) + std::size_t(b)] = std::min(problem.cost(a, b), problem.cost(b, a));
    for (int rank = 0; rank < problem.ranks(); ++rank) {
      double sum = 0;
      for (const Partner& partner : problem.partners(rank)) sum += partner.to + partner.from;
      total_.push_back(sum);
      fixed_.push_back(problem.is_pinned() && problem.is_fixed(rank) ? 1 : 0);
    }
  }

  Proof run();

 private:
  /// A partial map: what it costs by now, and of each rank on each slot what it has to do with the ranks placed.
  struct State {
    double sum = 0;
    std::vector<double> linear, near, loads;
    Cost bound;
  };

  State root() const;
  State place(const State& state, int rank, int slot) const;
  void set_bound(State& state);
  void explore(State& state);
  void finish();
  int next_rank(const State& state) const;
  std::vector<int> branches(int rank) const;
  double slot_floor(int a, int b) const { return floor_[std::size_t(a) * std::size_t(n_) + std::size_t(b)]; }

  const Problem& problem_;
  const Symmetry symmetry_;
  Best& best_;
  std::uint64_t work_, nodes_ = 0;
  const int n_;
  const double least_us_;
  Map map_;                  // of ranks placed; -1
  std::vector<int> placed_;  // in order
  std::vector<char> taken_ = std::vector<char>(map_.size(), 0);
  std::vector<double> floor_, total_;
  std::vector<char> fixed_;   // ranks for which there is one slot alone
  std::optional<Cost> open_;  // the least bound of what was not looked at
};

Prover::State Prover::root() const {
  State state;
  state.linear.assign(std::size_t(problem_.ranks()) * std::size_t(n_), 0);
  state.near.assign(std::size_t(problem_.ranks()), 0);
  state.loads.assign(std::size_t(problem_.resources()), 0);
  return state;
}

Prover::State Prover::place(const State& before, int rank, int slot) const {
  State state = before;
  state.sum += state.linear[std::size_t(rank) * std::size_t(n_) + std::size_t(slot)];
  for (const Partner& partner : problem_.partners(rank)) {
    const int other = map_[std::size_t(partner.rank)];
    if (other >= 0) {
      if (!problem_.has_resources()) continue;
      add_load(problem_, partner.to, slot, other, 1, state.loads);
      add_load(problem_, partner.from, other, slot, 1, state.loads);
      continue;
    }
    state.near[std::size_t(partner.rank)] += partner.to + partner.from;
    double* const row = &state.linear[std::size_t(partner.rank) * std::size_t(n_)];
    for (int each = 0; each < n_; ++each) row[each] += problem_.pair_cost(partner, slot, each);
  }
  return state;
}

/// The partial loads, and, where only the sum can still tell, Gilmore and Lawler's bound. The ranks in map_ are
/// placed.
void Prover::set_bound(State& state) {
  state.bound.heaviest_us = least_us_;
  for (const double us : state.loads) state.bound.heaviest_us = std::max(state.bound.heaviest_us, us);
  state.bound.sum = state.sum;
  const Cost& best = best_.first().cost;
  // What is heavier is given up anyway, and of what may become lighter the sum says nothing.
  if (less(best.heaviest_us, state.bound.heaviest_us) || less(state.bound.heaviest_us, best.heaviest_us)) return;
  std::vector<int> ranks, slots;
  for (int rank = 0; rank < problem_.ranks(); ++rank)
    if (map_[std::size_t(rank)] < 0) ranks.push_back(rank);
  for (int slot = 0; slot < n_; ++slot)
    if (!taken_[std::size_t(slot)]) slots.push_back(slot);
  if (ranks.empty()) return;
  const std::size_t m = ranks.size(), f = slots.size();
  work_ -= std::min<std::uint64_t>(work_, m * f * (m + 8));
  std::vector<double> costs(f * (f - 1)), flow, matrix(m * f);
  for (std::size_t p = 0; p < f; ++p) {
    double* const row = costs.data() + p * (f - 1);
    for (std::size_t q = 0, at = 0; q < f; ++q)
      if (q != p) row[at++] = slot_floor(slots[p], slots[q]);
    std::sort(row, row + (f - 1));
  }
  for (std::size_t i = 0; i < m; ++i) {
    flow.clear();
    for (const Partner& partner : problem_.partners(ranks[i]))
      if (map_[std::size_t(partner.rank)] < 0) flow.push_back(partner.to + partner.from);
    std::ranges::sort(flow, std::greater<>());
    for (std::size_t p = 0; p < f; ++p) {
      if (!problem_.allows(ranks[i], slots[p])) {
        matrix[i * f + p] = 2 * best.sum + 1;  // more than any map that is looked for
        continue;
      }
      double inner = 0;
      for (std::size_t k = 0; k < flow.size(); ++k) inner += flow[k] * costs[p * (f - 1) + k];
      // Each pair of ranks that are not placed is in two rows.
      matrix[i * f + p] = state.linear[std::size_t(ranks[i]) * std::size_t(n_) + std::size_t(slots[p])] + inner / 2;
    }
  }
  state.bound.sum += assign_least(matrix, int(m), int(f));
}

int Prover::next_rank(const State& state) const {
  int next = -1;
  for (int rank = 0; rank < problem_.ranks(); ++rank) {
    if (map_[std::size_t(rank)] >= 0) continue;
    if (fixed_[std::size_t(rank)] != 0) return rank;
    const auto weight = [&](int each) { return std::pair(state.near[std::size_t(each)], total_[std::size_t(each)]); };
    if (next < 0 || weight(rank) > weight(next)) next = rank;
  }
  return next;
}

/// Slots to try for a rank: of those that a symmetry exchanges, the first.
std::vector<int> Prover::branches(int rank) const {
  std::vector<int> fixed;
  for (const int each : placed_) fixed.push_back(map_[std::size_t(each)]);
  std::vector<int> slots;
  for (int slot = 0; slot < n_; ++slot) {
    if (taken_[std::size_t(slot)] || !problem_.allows(rank, slot)) continue;
    const auto is_twin = [&](int other) { return symmetry_.twin(other) == symmetry_.twin(slot); };
    const auto is_alike = [&](int other) { return symmetry_.alike(other, slot, fixed); };
    // Twins are known beforehand, however many ranks are placed.
    const bool seen = std::ranges::any_of(slots, is_twin) ||
                      (int(placed_.size()) <= kSymmetricDepth && std::ranges::any_of(slots, is_alike));
    if (!seen) slots.push_back(slot);
  }
  return slots;
}

void Prover::finish() {
  Map map = map_;
  std::vector<int> empty;
  for (int slot = 0; slot < n_; ++slot)
    if (!taken_[std::size_t(slot)]) empty.push_back(slot);
  std::size_t next = 0;
  for (int& slot : map)
    if (slot < 0) slot = empty[next++];
  best_.offer(map, problem_.cost_of(map));
}

void Prover::explore(State& state) {
  const int rank = next_rank(state);
  if (rank < 0) return finish();
  std::vector<std::pair<int, State>> children;
  for (const int slot : branches(rank)) {
    children.emplace_back(slot, place(state, rank, slot));
    map_[std::size_t(rank)] = slot;
    taken_[std::size_t(slot)] = 1;
    set_bound(children.back().second);
    map_[std::size_t(rank)] = -1;
    taken_[std::size_t(slot)] = 0;
    ++nodes_;
    work_ -= std::min<std::uint64_t>(work_, std::uint64_t(n_) * std::uint64_t(n_) + state.loads.size());
  }
  std::ranges::stable_sort(children, [](const auto& a, const auto& b) {
    return std::pair(a.second.bound.heaviest_us, a.second.bound.sum) <
           std::pair(b.second.bound.heaviest_us, b.second.bound.sum);
  });
  for (auto& [slot, child] : children) {
    if (at_least(child.bound, best_.first().cost)) continue;
    if (work_ == 0) {
      if (!open_ || less(child.bound, *open_)) open_ = child.bound;
      continue;
    }
    map_[std::size_t(rank)] = slot;
    taken_[std::size_t(slot)] = 1;
    placed_.push_back(rank);
    explore(child);
    placed_.pop_back();
    map_[std::size_t(rank)] = -1;
    taken_[std::size_t(slot)] = 0;
  }
}

Proof Prover::run() {
  State state = root();
  set_bound(state);
  const Cost at_root = state.bound;
  if (!at_least(at_root, best_.first().cost)) explore(state);
  Proof proof;
  proof.nodes = nodes_;
  proof.proved = !open_ || at_least(*open_, best_.first().cost);
  proof.bound = proof.proved ? best_.first().cost : *open_;
  // Bounds of maps of another heaviest load than the best say less of the sum than the root's, or nothing.
  if (!proof.proved && less(proof.bound, at_root)) proof.bound = at_root;
  return proof;
}

}  // namespace

Proof prove(const Problem& problem, std::uint64_t work, Best& best) {
  return Prover(problem, work, best).run();
}

double assign_least(std::span<const double> matrix, int rows, int columns) {
  const auto at = [&](int i, int j) {
    return matrix[std::size_t(i - 1) * std::size_t(columns) + std::size_t(j - 1)];
  };
  std::vector<double> u(std::size_t(rows) + 1, 0), v(std::size_t(columns) + 1, 0), least(std::size_t(columns) + 1);
  std::vector<int> row_of(std::size_t(columns) + 1, 0), way(std::size_t(columns) + 1, 0);
  std::vector<char> seen(std::size_t(columns) + 1);
  for (int i = 1; i <= rows; ++i) {
    row_of[0] = i;
    int column = 0;
    std::ranges::fill(least, kInfinite);
    std::ranges::fill(seen, 0);
    do {
      seen[std::size_t(column)] = 1;
      const int row = row_of[std::size_t(column)];
      double delta = kInfinite;
      int next = 0;
      for (int j = 1; j <= columns; ++j) {
        if (seen[std::size_t(j)]) continue;
        const double reduced = at(row, j) - u[std::size_t(row)] - v[std::size_t(j)];
        if (reduced < least[std::size_t(j)]) least[std::size_t(j)] = reduced, way[std::size_t(j)] = column;
        if (least[std::size_t(j)] < delta) delta = least[std::size_t(j)], next = j;
      }
      for (int j = 0; j <= columns; ++j) {
        if (seen[std::size_t(j)]) {
          u[std::size_t(row_of[std::size_t(j)])] += delta;
          v[std::size_t(j)] -= delta;
        } else {
          least[std::size_t(j)] -= delta;
        }
      }
      column = next;
    } while (row_of[std::size_t(column)] != 0);
    while (column != 0) {
      const int before = way[std::size_t(column)];
      row_of[std::size_t(column)] = row_of[std::size_t(before)];
      column = before;
    }
  }
  double sum = 0;
  for (int j = 1; j <= columns; ++j)
    if (row_of[std::size_t(j)] != 0) sum += at(row_of[std::size_t(j)], j);
  return sum;
}

}  // namespace sennit::place
