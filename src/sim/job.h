// Runs a job of virtual ranks: collectives, called on all of them, become a recording and what it must come to.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "coll/algorithms.h"
#include "coll/allreduce_copy_engines.h"
#include "device/trace/executor.h"
#include "sim/check.h"

namespace sennit::sim {

/// One collective, as all ranks call it.
struct Collective {
  coll::Operation operation = coll::Operation::allreduce;
  coll::Plan plan;
  std::uint64_t bytes = 0;  ///< coll::Call::bytes; of an all-to-all-v the longest message
  int root = 0;
  bool in_place = false;
  device::Reduction reduction;
  bool uneven = false;  ///< of an all-to-all-v: messages of several lengths, 0 too; else all are as long
};

class Job {
 public:
  /// `sockets`: of each rank. `scratch_bytes`: of each. `most_blocks`: as Recorder has it. Errors: invalid_argument
  /// (numbers of ranks that no node has, scratch too small).
  static Result<Job> create(const std::vector<int>& sockets, std::uint64_t scratch_bytes, unsigned most_blocks = ~0u);

  int ranks() const { return static_cast<int>(teams_.size()); }
  const coll::Team& team(int rank) const { return teams_[static_cast<std::size_t>(rank)]; }
  /// Whether the plan can do it: enough room, and a sense in place.
  bool admits(const Collective& what) const;

  /// With buffers of its own, in symmetric windows. Errors: those of coll::launch.
  Status call(const Collective& what);

  const device::Recording& recording() const { return recorder_->recording(); }
  /// Of all calls.
  const Promises& promises() const { return promises_; }

 private:
  Job(int ranks, unsigned most_blocks) : recorder_(std::make_shared<device::Recorder>(ranks, most_blocks)) {}
  /// Of the message between two ranks of an all-to-all-v.
  static std::uint64_t length(const Collective& what, int from, int to);

  struct Buffers {
    device::Memory input, output;  // the second is empty in place
    device::Memory mark;           // of a barrier: see call()
    std::byte *from = nullptr, *to = nullptr;
  };
  std::uint32_t lane_of(int rank) const {
    return static_cast<std::uint32_t>(lanes_[static_cast<std::size_t>(rank)]->queue().stream - 1);
  }
  /// What callers do around a call: they fill their buffers, and read what they get.
  void begin(const Collective& what, int rank, const Buffers& own);
  void end(const Collective& what, int rank, std::span<const Buffers* const> buffers);
  Result<Buffers> make_buffers(const Collective& what, int rank);
  int giver_of(const Collective& what, int rank, int from) const;
  void promise(const Collective& what, std::span<const Buffers* const> buffers);

  std::shared_ptr<device::Recorder> recorder_;
  Promises promises_;
  std::vector<std::unique_ptr<device::TraceExecutor>> executors_;
  std::vector<std::unique_ptr<device::Lane>> lanes_;
  std::vector<device::Memory> scratch_;
  std::vector<std::vector<coll::BlockCounts>> counts_;
  std::vector<coll::Team> teams_;
  std::vector<std::unique_ptr<coll::CopyEngines>> engines_;
  std::vector<std::unique_ptr<Buffers>> buffers_;  // of all calls: addresses are not used again
};

}  // namespace sennit::sim
