// Which slots a symmetry of the machine exchanges, so that a search tries one of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "place/problem.h"

namespace sennit::place {

/// A symmetry is a permutation of slots that changes no cost, takes the pairs that use a resource to those that use
/// another one as much, and each slot to one to which the same ranks may go.
class Symmetry {
 public:
  explicit Symmetry(const Problem& problem);

  /// Whether a symmetry takes slot p to slot q and leaves all slots of `fixed` where they are. False where the search
  /// takes too long: then both are tried.
  bool alike(int p, int q, std::span<const int> fixed) const;
  /// The first of the slots that can change places with this one while all others stay, itself perhaps: twins, such
  /// as GPUs of one switch.
  int twin(int slot) const { return twin_[std::size_t(slot)]; }

 private:
  void find_twins();
  bool extend(std::vector<int>& image, std::vector<char>& used, std::span<const int> order, std::size_t next,
              int& steps) const;
  bool fits(std::span<const int> image, int slot, int to) const;
  bool keeps_resources(std::span<const int> image) const;
  std::uint32_t kind(int a, int b) const { return kinds_[std::size_t(a) * std::size_t(slots_) + std::size_t(b)]; }

  int slots_;
  std::vector<int> twin_;
  std::vector<std::uint32_t> kinds_;  // of pairs of slots: alike in cost and in what they take of resources
  struct Taker {
    int a, b;
    std::uint64_t weight;
  };
  std::vector<std::vector<Taker>> takers_;  // of each resource that is used
  std::vector<std::uint64_t> prints_;       // of each resource, sorted: a hash of who uses it
};

}  // namespace sennit::place
