// Decides on the plans of a communicator's calls: by the table that was measured on this machine, where all ranks
// have the same one; else by the cost model. It follows what calls really take.
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>

#include "coll/choice.h"
#include "plan/correction.h"
#include "plan/lookup.h"
#include "plan/plan_switch.h"

namespace sennit::plan {

class Chooser final : public coll::Chooser {
 public:
  /// `table`: this rank's; absent, it is read from SENNIT_TABLE, else the machine's own. `adapts`: plans may change
  /// while programs run, for which a call of one rank may have to wait for a call of rank 0. `room`: the same on
  /// every rank.
  explicit Chooser(std::optional<Table> table = std::nullopt, bool adapts = true, const Room& room = {})
      : given_(std::move(table)), adapts_(adapts), room_(room) {}

  /// Agrees with the other ranks: a table that only some have, or another machine's, is passed over with a warning
  /// that says why. Errors: those of the exchange; those of load_table() for a SENNIT_TABLE.
  Status meet(node::Node& node, const coll::Team& team, std::uint64_t scratch_bytes) override;
  coll::Plan plan(const coll::CallKey& which) override;
  /// Returns the entry that calls of this size go by, and those around it (Lookup::around); without plans where the
  /// cost model decides.
  std::vector<Entry> measured(const coll::CallKey& which) const {
    return lookup_.around(coll::bucket_of(which), team_);
  }
  coll::Plan call(const coll::CallKey& which) override;
  Status starts(device::Lane& lane) override;
  Status ends(device::Lane& lane) override;

 private:
  struct Decision {
    std::vector<coll::Plan> plans;  ///< the tuned ones in their order, or the model's
    std::vector<double> expected;   ///< µs; empty for the model's
    std::size_t current = 0;
    std::unique_ptr<Correction> correction;  ///< on rank 0, where there is a choice
  };
  /// A call that is being timed, or was and has not been accounted for.
  struct Sampled {
    std::uint64_t call = 0;
    coll::CallKey bucket;
    std::size_t plan = 0;
  };
  /// A pair of events, and the call between them.
  struct Timer {
    std::unique_ptr<device::Event> start, end;
    Sampled sampled;
    bool recorded = false;  ///< `sampled` is under way, or has not been accounted for
  };

  Decision& decide(const coll::CallKey& bucket);
  void apply(const Change& change);
  /// Publishes this rank's last sample when it is done; on rank 0 takes in those that all ranks have.
  void follow();
  /// Returns whether rank 0 has not said for longer than any wait may take from which call a change applies.
  bool gave_up(comm::Clock::time_point start);

  std::optional<Table> given_;
  const bool adapts_;
  const Room room_;
  node::Node* node_ = nullptr;
  coll::Team team_;
  coll::Figures figures_;
  Lookup lookup_;
  std::unordered_map<coll::CallKey, Decision, coll::HashOfCallKey> decisions_;

  // Online correction; all empty where it is off.
  std::unique_ptr<PlanSwitch> plan_switch_;
  std::vector<Timer> timers_;     // by turns: a host may be many calls ahead of its GPU
  Timer* timer_ = nullptr;        // of the call that is being made, where it is timed
  bool ended_ = true;             // the last call was enqueued: else this one is that one, tried again
  std::optional<Change> wanted_;  // rank 0: until the one before is in force everywhere
  std::deque<Sampled> open_;      // rank 0: samples that some rank may not have published yet
};

}  // namespace sennit::plan
