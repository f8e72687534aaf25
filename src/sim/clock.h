// Keeps what a party knows of how far the others have got, and steps by when they were done.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "device/trace/recording.h"
#include "sim/check.h"

namespace sennit::sim {

/// How far each party has got, as far as its owner knows.
using Clock = std::vector<std::uint32_t>;

inline void join(Clock& mine, const Clock& other) {
  if (mine.size() < other.size()) mine.resize(other.size());
  for (std::size_t i = 0; i < other.size(); ++i) mine[i] = std::max(mine[i], other[i]);
}

/// A step that was done.
struct Stamp {
  std::uint32_t party = 0, time = 0;  // time 0: never
  std::uint32_t strand = 0, step = 0;

  bool before(const Clock& clock) const { return time == 0 || (party < clock.size() && clock[party] >= time); }
};

/// What was found so far, up to a number.
class Findings {
 public:
  Findings(const device::Recording& recording, std::size_t most) : recording_(recording), most_(most) {}

  bool full() const { return all_.size() >= most_; }
  bool none() const { return all_.empty(); }
  void report(Fault fault, std::string what) {
    if (!full()) all_.push_back({fault, std::move(what)});
  }
  void outside(const Stamp& stamp) { report(Fault::outside, place(stamp) + " is in no region"); }
  std::string place(const Stamp& stamp) const { return device::describe(recording_, stamp.strand, stamp.step); }
  std::vector<Finding> take() { return std::move(all_); }

 private:
  const device::Recording& recording_;
  const std::size_t most_;
  std::vector<Finding> all_;
};

}  // namespace sennit::sim
