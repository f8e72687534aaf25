// The collectives of a communicator: checks a call, sees to its order among the streams, and starts the chosen plan.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "coll/allreduce.h"
#include "coll/allreduce_copy_engines.h"
#include "coll/scratch.h"
#include "path/node.h"

namespace sennit::coll {

class Collectives {
 public:
  /// `node` outlives it.
  explicit Collectives(path::Node& node) : node_(node) {}

  /// Reduces `count` numbers at `input` of every rank into `output` of every rank, in the order of `lane`.
  /// Collective: every rank makes the same collective calls in the same order, on whatever lanes; they then run in
  /// this order. The first call of a communicator meets all ranks to make scratch memory; later ones wait for nobody.
  /// `forced`: this plan instead of the chosen one; the same on every rank. Errors: invalid_argument (null, freed,
  /// pageable or overlapping memory, too short, a type without this operator), those of Scratch::create on the first
  /// call, peer_lost, aborted.
  Status allreduce(const void* input, void* output, std::uint64_t count, device::Reduction reduction,
                   device::Lane& lane, const AllreducePlan* forced = nullptr);

  /// What allreduce() would take for so many bytes.
  AllreducePlan plan_allreduce(std::uint64_t bytes) const;

  /// What a wait that passed its limit meant for the collectives: names the ranks that have not made the latest call,
  /// and ends the communicator, so that all ranks learn the same. Other results pass unchanged.
  Status explain(Status status);

  /// Collective, and harmless where no collective was called: for when all calls are done.
  Status close();

  /// Null before the first call.
  const Scratch* scratch() const { return scratch_.get(); }

 private:
  Status prepare(device::Lane& lane);
  Status check_memory(const void* data, std::uint64_t bytes, device::Access access);
  /// Lets `lane` wait for the call before, where that was on another stream.
  Status take_turn(device::Lane& lane);
  Status end_turn(device::Lane& lane);

  path::Node& node_;
  std::mutex mutex_;  // held while a call is enqueued: threads' calls do not mix
  std::unique_ptr<Scratch> scratch_;
  std::unique_ptr<CopyEngines> engines_;  // made when first planned
  std::unique_ptr<device::Event> last_;   // the end of the call before
  std::uint64_t last_stream_ = 0;
  std::atomic<std::uint64_t> calls_{0};  // that were noted
};

}  // namespace sennit::coll
