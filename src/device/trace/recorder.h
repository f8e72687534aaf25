// Takes down what the virtual ranks of one job do: one Recording, and which addresses mean what in it.
#pragma once

#include <map>
#include <string>

#include "device/program.h"
#include "device/trace/recording.h"

namespace sennit::device {

class Recorder {
 public:
  /// `most_blocks`: of the blocks of a launch, which do the same with other bytes, no more are written down.
  explicit Recorder(int ranks, unsigned most_blocks = ~0u) : most_blocks_(most_blocks) { recording_.ranks = ranks; }

  /// Makes addresses [base, base + bytes) this region, from now on.
  void add(const void* base, Region region);

  std::uint32_t add_lane(int rank);
  /// Strands of its blocks; the launch is a step of `lane`.
  const Launch& add_launch(std::uint32_t lane, const Program& program, unsigned blocks, unsigned threads);
  /// Adds a strand that is not kept, for blocks that have none: see Launch::fold. drop_spare() says how many bytes it
  /// moved.
  std::uint32_t add_spare();
  std::uint64_t drop_spare();
  static std::uint64_t moved(const Strand& strand);
  void set_fold(std::uint32_t launch, double fold) { recording_.launches[launch].fold = fold; }
  std::uint32_t add_event() { return next_event_++; }

  /// Begins a step that no other happens at the same time as; add() the step itself, then its ends.
  void next_group(std::uint32_t strand) { ++group_of(strand); }
  /// Sources first. A step of the current group.
  Step& add(std::uint32_t strand, Act act);
  void add_source(std::uint32_t strand, const void* address, bool packets = false);
  void add_destination(std::uint32_t strand, const void* address, bool packets = false);

  /// Drops all steps and launches so far, but no region, lane or event: what a job does before it begins.
  void forget_steps();

  /// The caller of a lane fills a buffer before it calls, or reads a result afterwards.
  void add_fill(std::uint32_t lane, const void* address, std::uint64_t bytes);
  void add_read(std::uint32_t lane, const void* address, std::uint64_t bytes);

  /// Returns the region that an address lies in, and its offset there.
  End place(const void* address) const { return end_at(address, false); }
  const Recording& recording() const { return recording_; }

 private:
  End end_at(const void* address, bool packets) const;
  std::uint32_t& group_of(std::uint32_t strand) {
    if (groups_.size() <= strand) groups_.resize(strand + 1);
    return groups_[strand];
  }

  const unsigned most_blocks_;
  Recording recording_;
  std::map<const std::byte*, std::uint32_t> regions_;  // by address of their begin
  std::vector<std::uint32_t> groups_;                  // of each strand's latest step
  std::uint32_t next_event_ = 0;
};

}  // namespace sennit::device
