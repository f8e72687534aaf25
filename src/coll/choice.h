// Chooses the plan of a call.
#pragma once

#include <unordered_map>

#include "coll/cost.h"
#include "node/node.h"

namespace sennit::coll {

/// Returns the candidate of at most so many blocks that should be fastest: on GPUs by the cost model, on the host
/// executor by a rule. Pure: all ranks get the same from the same arguments.
Plan choose(const CallKey& which, const Team& team, device::Kind kind, const Figures& figures,
            unsigned most_blocks = kMostBlocks);

/// Chooses the plan of each call of a communicator; is asked from one thread at a time.
class Chooser {
 public:
  virtual ~Chooser() = default;
  /// Collective, once, at the communicator's first call. `scratch_bytes`: SENNIT_SCRATCH as all go by it. Errors: the
  /// same on every rank.
  virtual Status meet(node::Node& node, const Team& team, std::uint64_t scratch_bytes) = 0;
  /// Returns the plan that the next such call would take.
  virtual Plan plan(const CallKey& which) = 0;
  /// Returns the plan of a call that is being made: equal on every rank after equal calls before, whatever else
  /// differs.
  virtual Plan call(const CallKey& which) { return plan(which); }
  /// The call that call() was asked for last is about to be enqueued on `lane`, and has been.
  virtual Status starts(device::Lane&) { return {}; }
  virtual Status ends(device::Lane&) { return {}; }
};

/// Asks the cost model, once for all sizes that bucket_of() puts together.
class ModelChooser final : public Chooser {
 public:
  explicit ModelChooser(const Figures& figures = {}) : figures_(figures) {}
  Status meet(node::Node& node, const Team& team, std::uint64_t scratch_bytes) override;
  Plan plan(const CallKey& which) override;

 private:
  Figures figures_;
  Team team_;
  device::Kind kind_ = device::Kind::host;
  std::unordered_map<CallKey, Plan, HashOfCallKey> plans_;
};

}  // namespace sennit::coll
