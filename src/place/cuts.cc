#include "place/cuts.h"

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

namespace sennit::place {

namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();
constexpr int kMostCutSlots = 16;  // limit: 2^16 sets of ranks take a millisecond

/// For each number of ranks the least that a set of so many sends to all others, and that goes across both ways.
struct Cuts {
  std::vector<double> out, both;
};

Cuts cuts_of(const Problem& problem) {
  const int n = problem.ranks();
  std::vector<double> traffic(std::size_t(n) * std::size_t(n), 0);
  for (int rank = 0; rank < n; ++rank)
    for (const Partner& partner : problem.partners(rank))
      traffic[std::size_t(rank) * std::size_t(n) + std::size_t(partner.rank)] = partner.to;
  const std::size_t sets = std::size_t{1} << n;
  std::vector<double> out(sets, 0);
  Cuts cuts{std::vector<double>(std::size_t(n) + 1, kUnbounded), std::vector<double>(std::size_t(n) + 1, kUnbounded)};
  for (std::size_t set = 1; set < sets; ++set) {
    const int v = __builtin_ctzll(set);
    const std::size_t rest = set & (set - 1);
    double sum = out[rest];
    for (int u = 0; u < n; ++u) {
      if (set >> u & 1)
        sum -= traffic[std::size_t(u) * std::size_t(n) + std::size_t(v)];
      else
        sum += traffic[std::size_t(v) * std::size_t(n) + std::size_t(u)];
    }
    out[set] = sum;
  }
  for (std::size_t set = 0; set < sets; ++set) {
    const auto size = std::size_t(__builtin_popcountll(set));
    cuts.out[size] = std::min(cuts.out[size], std::max(0.0, out[set]));
    cuts.both[size] = std::min(cuts.both[size], std::max(0.0, out[set] + out[sets - 1 - set]));
  }
  return cuts;
}

/// µs a byte of all ways together by which bytes leave the first node, or arrive there: each slot's is the narrowest
/// resource that all its traffic with other nodes takes. 0: there is one node, or a slot without such a resource.
double us_of_exits(const Problem& problem, bool leaves) {
  const int n = problem.slots(), size = problem.slots_of_node();
  if (size >= n) return 0;
  std::map<int, double> exits;  // bytes a µs of each
  for (int a = 0; a < size; ++a) {
    Taken narrowest;
    const auto us_to = [&](int resource, int b) {
      for (const Taken& use : leaves ? problem.uses(a, b) : problem.uses(b, a))
        if (use.resource == resource) return use.us_per_byte;
      return 0.0;
    };
    for (const Taken& each : leaves ? problem.uses(a, size) : problem.uses(size, a)) {
      double least = each.us_per_byte;
      for (int b = size; b < n; ++b) least = std::min(least, us_to(each.resource, b));
      if (least > narrowest.us_per_byte) narrowest = {each.resource, least};
    }
    if (narrowest.us_per_byte <= 0) return 0;
    double& rate = exits[narrowest.resource];
    rate = std::max(rate, 1 / narrowest.us_per_byte);
  }
  double rate = 0;
  for (const auto& each : exits) rate += each.second;
  return 1 / rate;
}

}  // namespace

double least_heaviest_us(const Problem& problem) {
  const int n = problem.slots(), ranks = problem.ranks();
  if (!problem.has_resources() || n > kMostCutSlots) return 0;
  const Cuts cuts = cuts_of(problem);
  // Of a part of `size` slots: as few or as many ranks as can be there.
  const auto least = [&](const std::vector<double>& of, int size) {
    double bytes = kUnbounded;
    for (int count = std::max(0, ranks - (n - size)); count <= std::min(size, ranks); ++count)
      bytes = std::min(bytes, of[std::size_t(count)]);
    return bytes;
  };
  const auto us_of = [&](int resource, int a, int b) {
    for (const Taken& use : problem.uses(a, b))
      if (use.resource == resource) return use.us_per_byte;
    return 0.0;
  };
  std::vector<char> used(std::size_t(problem.resources()), 0);
  for (int a = 0; a < n; ++a)
    for (int b = 0; b < n; ++b)
      for (const Taken& use : problem.uses(a, b)) used[std::size_t(use.resource)] = 1;
  double heaviest = 0;
  std::vector<double> single(std::size_t(n), 0);  // of each slot: µs a byte that leaves it, by a link of its own
  std::vector<double> us(std::size_t(n) * std::size_t(n));
  for (int resource = 0; resource < problem.resources(); ++resource) {
    if (!used[std::size_t(resource)]) continue;
    std::vector<char> from(std::size_t(n), 0), to(std::size_t(n), 0);
    for (int a = 0; a < n; ++a)
      for (int b = 0; b < n; ++b) {
        const double each = us_of(resource, a, b);
        us[std::size_t(a) * std::size_t(n) + std::size_t(b)] = each;
        if (each > 0) from[std::size_t(a)] = to[std::size_t(b)] = 1;
      }
    const bool directed =
        std::ranges::none_of(from, [&](const char& each) { return each && to[std::size_t(&each - from.data())]; });
    // The part: all that send over it; or, of one that both ways share, slot 0 and all that it reaches without it.
    std::vector<char> part = from;
    if (!directed)
      for (int b = 0; b < n; ++b) part[std::size_t(b)] = b == 0 || us[std::size_t(b)] <= 0;
    double least_us = kUnbounded;
    for (int a = 0; a < n; ++a)
      for (int b = 0; b < n; ++b) {
        const bool across =
            directed ? part[std::size_t(a)] && !part[std::size_t(b)] : part[std::size_t(a)] != part[std::size_t(b)];
        if (across) least_us = std::min(least_us, us[std::size_t(a) * std::size_t(n) + std::size_t(b)]);
      }
    const int size = int(std::ranges::count(part, 1));
    if (!(least_us < kUnbounded) || least_us <= 0) continue;
    heaviest = std::max(heaviest, least_us * least(directed ? cuts.out : cuts.both, size));
    if (directed && size == 1) {
      double& mine = single[std::size_t(std::ranges::find(part, 1) - part.begin())];
      mine = std::max(mine, least_us);
    }
  }
  // The rank that sends most has to be somewhere.
  double most = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    double sum = 0;
    for (const Partner& partner : problem.partners(rank)) sum += partner.to;
    most = std::max(most, sum);
  }
  heaviest = std::max(heaviest, most * *std::ranges::min_element(single));
  // What leaves a node is shared by the NICs of its slots, however it is dealt out; and so is what arrives.
  for (const bool leaves : {true, false}) {
    const double us_per_byte = us_of_exits(problem, leaves);
    const int size = problem.slots_of_node();
    if (us_per_byte > 0) heaviest = std::max(heaviest, us_per_byte * least(cuts.out, leaves ? size : n - size));
  }
  return heaviest;
}

}  // namespace sennit::place
