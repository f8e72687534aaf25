// Lets the ranks of a node change a decision at the same call without waiting for each other: through words that all
// of them see.
//
// Every rank makes the same calls in the same order, but their hosts may be any number of calls apart.
//
// 1. Before a call each rank publishes the call's number, then reads the number of the latest change.
// 2. Rank 0 changes something: it marks a change as under way, then reads every rank's call number. From the call
//    after the largest of them on the change applies. It writes that, and marks the change as made.
// 3. A rank that published before rank 0 read has a call number below, and finds the change at a later call. A rank
//    that published after it finds the mark, and waits the few loads that step 2 takes, whatever else the ranks do.
// 4. The next change is made only once every rank has passed the call from which the last applies.
//
// Steps 1 and 2 both write before they read, so all their accesses are sequentially consistent: in any order of them
// either rank 0 sees the call, or the rank sees the mark.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "comm/slot_map.h"

namespace sennit::plan {

struct Change {
  std::uint64_t key = 0;    ///< what is decided otherwise
  std::uint64_t value = 0;  ///< the decision

  bool operator==(const Change&) const = default;
};

class PlanSwitch {
 public:
  /// Holds what a rank publishes: all zero at first.
  struct Words {
    comm::PlanSwitchSlot* state = nullptr;
    comm::SamplesSlot* samples = nullptr;  ///< see sample()
  };
  /// `words` of each rank, by rank. Rank 0 leads.
  PlanSwitch(std::vector<Words> words, int rank) : words_(std::move(words)), rank_(rank) {}

  /// Returns the change that applies from this call on, if one does; to be called before each call. `gave_up`: asked
  /// while rank 0 is slow to say from which call a change applies; true ends the wait.
  std::optional<Change> call(const std::function<bool()>& gave_up);
  /// Calls announced so far.
  std::uint64_t calls() const { return calls_; }

  /// Makes a change; on rank 0 alone. False: the last change is not yet in force everywhere; nothing is changed.
  bool propose(const Change& change);

  /// Every so many calls one is timed: a default; two events cost 1.5 µs. Only of those samples are taken.
  static constexpr std::uint64_t kSamplePeriod = 64;
  static constexpr std::size_t kSamples = std::tuple_size_v<decltype(comm::SamplesSlot::latest)>;  ///< that are kept
  /// Notes the time of a call on this rank.
  void sample(std::uint64_t call, double us);
  /// Returns the least time that a call took on any rank, which is the time on the last rank to arrive: the others
  /// waited. No value until all have sampled it.
  std::optional<double> fastest(std::uint64_t call) const;

 private:
  comm::PlanSwitchSlot& state(std::size_t rank) const { return *words_[rank].state; }
  comm::PlanSwitchSlot& leader() const { return state(0); }

  static std::size_t place(std::uint64_t call) { return call / kSamplePeriod % kSamples; }

  std::vector<Words> words_;
  int rank_;
  std::uint64_t calls_ = 0;
  std::uint64_t seen_ = 0;  // the latest change that was found
  std::uint64_t from_ = 0;  // ... and where it applies
  std::optional<Change> pending_;
};

}  // namespace sennit::plan
