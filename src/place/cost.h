// The best maps that were found so far, and a map that is being improved by swaps.
#pragma once

#include <cstdint>
#include <vector>

#include "place/problem.h"

namespace sennit::place {

struct Found {
  Map map;
  Cost cost;
};

/// The cheapest maps of those offered, each once, in order; of maps that cost the same, those offered first.
class Best {
 public:
  explicit Best(std::size_t most = 10) : most_(most) {}
  void offer(const Map& map, const Cost& cost);
  const std::vector<Found>& all() const { return all_; }
  const Found& first() const { return all_.front(); }
  bool empty() const { return all_.empty(); }

 private:
  std::size_t most_;
  std::vector<Found> all_;
};

/// What a descent goes down: the sum; how unevenly resources are loaded (Σ load⁴, then the sum), which tells apart
/// maps whose heaviest load is the same; or Cost itself.
enum class Goal { sum, evenness, cost };

/// A map, its cost, and what changes when two ranks change places.
class Walk {
 public:
  Walk(const Problem& problem, Map map);

  const Map& map() const { return map_; }
  const Cost& cost() const { return cost_; }
  /// Whether the two ranks may change places and that could matter.
  bool can_swap(int a, int b) const;
  /// What the sum grows by when they do.
  double sum_change(int a, int b) const;
  void swap(int a, int b);
  /// Swaps them where that is better by `goal`, and says so.
  bool improve(int a, int b, Goal goal);
  /// Changes of places as long as one helps; at most `tries` are looked at, and counted off.
  void descend(Goal goal, std::int64_t& tries);

 private:
  void move_loads(int a, int b, std::vector<double>& loads) const;
  double unevenness(const std::vector<double>& loads) const;
  void settle();

  const Problem* problem_;
  Map map_;
  Cost cost_;
  double scale_ = 1;  // µs that unevenness is reckoned in
  double unevenness_ = 0;
  std::vector<double> loads_, changed_;
};

}  // namespace sennit::place
