#include "place/symmetry.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

namespace sennit::place {

namespace {

constexpr int kMostSteps = 500;  // limit: of a search for one symmetry

std::uint64_t mixed(std::uint64_t a, std::uint64_t b, std::uint64_t weight) {
  std::uint64_t z = (a * 0x9e3779b97f4a7c15ull) ^ (b * 0xc2b2ae3d27d4eb4full) ^ (weight * 0x165667b19e3779f9ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

}  // namespace

Symmetry::Symmetry(const Problem& problem) : slots_(problem.slots()) {
  const auto n = std::size_t(slots_);
  kinds_.resize(n * n);
  std::map<std::vector<std::uint64_t>, std::uint32_t> known;
  std::vector<std::vector<Taker>> takers(std::size_t(problem.resources()));
  for (int a = 0; a < slots_; ++a)
    for (int b = 0; b < slots_; ++b) {
      std::vector<std::uint64_t> print;
      if (problem.has_resources())
        for (const Taken& use : problem.uses(a, b)) {
          const auto weight = std::bit_cast<std::uint64_t>(use.us_per_byte);
          print.push_back(weight);
          takers[std::size_t(use.resource)].push_back({a, b, weight});
        }
      std::ranges::sort(print);
      print.push_back(std::bit_cast<std::uint64_t>(problem.cost(a, b)));
      print.push_back(a == b ? 1 : 0);
      if (a == b && problem.is_pinned())
        for (int rank = 0; rank < problem.ranks(); ++rank) print.push_back(problem.allows(rank, a) ? 1 : 0);
      kinds_[std::size_t(a) * n + std::size_t(b)] =
          known.emplace(std::move(print), std::uint32_t(known.size())).first->second;
    }
  for (auto& each : takers)
    if (!each.empty()) takers_.push_back(std::move(each));
  for (const auto& each : takers_) {
    std::uint64_t sum = 0;
    for (const Taker& taker : each) sum += mixed(std::uint64_t(taker.a), std::uint64_t(taker.b), taker.weight);
    prints_.push_back(sum);
  }
  std::ranges::sort(prints_);
  find_twins();
}

/// Of three slots of which two pairs can change places the third pair can, too: so the first of them stands for all.
void Symmetry::find_twins() {
  std::vector<int> image(static_cast<std::size_t>(slots_));
  std::iota(image.begin(), image.end(), 0);
  const auto can_change = [&](int p, int q) {
    if (kind(p, p) != kind(q, q) || kind(p, q) != kind(q, p)) return false;
    for (int other = 0; other < slots_; ++other)
      if (other != p && other != q && (kind(p, other) != kind(q, other) || kind(other, p) != kind(other, q)))
        return false;
    std::swap(image[std::size_t(p)], image[std::size_t(q)]);
    const bool keeps = keeps_resources(image);
    std::swap(image[std::size_t(p)], image[std::size_t(q)]);
    return keeps;
  };
  for (int slot = 0; slot < slots_; ++slot) {
    int first = 0;
    while (first < slot && (twin_[std::size_t(first)] != first || !can_change(first, slot))) ++first;
    twin_.push_back(first);
  }
}

bool Symmetry::keeps_resources(std::span<const int> image) const {
  std::vector<std::uint64_t> prints;
  for (const auto& each : takers_) {
    std::uint64_t sum = 0;
    for (const Taker& taker : each)
      sum +=
          mixed(std::uint64_t(image[std::size_t(taker.a)]), std::uint64_t(image[std::size_t(taker.b)]), taker.weight);
    prints.push_back(sum);
  }
  std::ranges::sort(prints);
  return prints == prints_;
}

bool Symmetry::fits(std::span<const int> image, int slot, int to) const {
  if (kind(slot, slot) != kind(to, to)) return false;
  for (int other = 0; other < slots_; ++other) {
    const int there = image[std::size_t(other)];
    if (there >= 0 && (kind(slot, other) != kind(to, there) || kind(other, slot) != kind(there, to))) return false;
  }
  return true;
}

bool Symmetry::extend(std::vector<int>& image, std::vector<char>& used, std::span<const int> order, std::size_t next,
                      int& steps) const {
  if (next == order.size()) return keeps_resources(image);
  const int slot = order[next];
  // Itself first: the fewer move, the sooner everything fits.
  for (int i = -1; i < slots_; ++i) {
    const int to = i < 0 ? slot : i;
    if (used[std::size_t(to)] || (i == slot)) continue;
    if (--steps < 0) return false;
    if (!fits(image, slot, to)) continue;
    image[std::size_t(slot)] = to;
    used[std::size_t(to)] = 1;
    if (extend(image, used, order, next + 1, steps)) return true;
    image[std::size_t(slot)] = -1;
    used[std::size_t(to)] = 0;
  }
  return false;
}

bool Symmetry::alike(int p, int q, std::span<const int> fixed) const {
  const auto n = std::size_t(slots_);
  std::vector<int> image(n, -1), order;
  std::vector<char> used(n, 0);
  const auto set = [&](int slot, int to) {
    if (!fits(image, slot, to)) return false;
    image[std::size_t(slot)] = to;
    used[std::size_t(to)] = 1;
    return true;
  };
  for (const int slot : fixed)
    if (!set(slot, slot)) return false;
  if (!set(p, q)) return false;
  // The slot that q leaves goes next: most symmetries exchange the two.
  if (image[std::size_t(q)] < 0) order.push_back(q);
  for (int slot = 0; slot < slots_; ++slot)
    if (image[std::size_t(slot)] < 0 && slot != q) order.push_back(slot);
  int steps = kMostSteps;
  return extend(image, used, order, 0, steps);
}

}  // namespace sennit::place
