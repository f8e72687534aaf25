// Decides which library does a call: by what all ranks know, so that every rank decides alike.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "coll/collectives.h"
#include "plan/chooser.h"
#include "plan/table.h"
#include "shim/nccl/call.h"
#include "shim/switches.h"

namespace sennit::shim::nccl {

struct Decision {
  bool ours = false;                                ///< sennit does the call
  std::string how;                                  ///< the plan, or why the call is NCCL's
  std::optional<coll::Plan> forced = std::nullopt;  ///< instead of the plan that would be chosen
};

/// Why no call is sennit's where nothing was tuned.
inline constexpr const char* kNoPlan = "no plan was measured here beside this NCCL (sennit tune collectives)";

/// Returns why no call is sennit's by this table; empty where some may be, for having measured faster. What is made
/// for calls takes memory of all GPUs. Pure.
std::optional<std::string> reason_against(const plan::Table& table, const Switches& switches);

/// Decides for one communicator, and keeps what it decided. Thread-safe.
class Decider {
 public:
  /// `chooser`: the one of `collectives`. Both outlive this object. `ranks`: of the communicator.
  Decider(coll::Collectives& collectives, plan::Chooser& chooser, const Switches& switches, int ranks)
      : collectives_(collectives), chooser_(chooser), switches_(switches), ranks_(ranks) {}

  /// Returns the same on every rank for calls that belong together: it looks at the operation, the bytes, the type
  /// and the operator, at windows, and at what the ranks agreed on; of a message at its bytes. The reference stays
  /// valid.
  const Decision& decide(const Call& call);
  /// To be told when the communicator's windows have changed. `any`: it has some.
  void set_windows(bool any);

 private:
  Decision in_buffers(const coll::CallKey& which);
  /// `which`: the same in ordinary buffers, and `otherwise` the decision there.
  Decision between_windows(const Decision& otherwise, const coll::CallKey& which);
  /// Returns true if the call's buffers lie in windows, as on all ranks.
  bool is_between_windows(const Call& call, const device::Reduction& reduction) const;

  coll::Collectives& collectives_;
  plan::Chooser& chooser_;
  const Switches switches_;
  const int ranks_;

  std::mutex mutex_;
  bool has_windows_ = false;
  std::unordered_map<coll::CallKey, Decision, coll::HashOfCallKey> decisions_;  // by bucket
  Call latest_;
  const Decision* latest_decision_ = nullptr;
};

}  // namespace sennit::shim::nccl
