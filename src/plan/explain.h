// Writes a choice as a JSON document: the answer of `sennit explain allreduce`.
#pragma once

#include "base/json.h"
#include "device/executor.h"
#include "plan/table.h"

namespace sennit::plan {

struct Question {
  coll::CallKey which;
  device::Reduction reduction;
  Layout layout;
  std::uint64_t scratch_bytes = 0;
  device::Kind kind = device::Kind::cuda;
};

/// Holds what a simulator says of a plan: the time of each of many calls, one behind the other.
struct Simulated {
  coll::Plan plan;
  double us = 0;
};

/// {"operation", …, "source", "chosen", "reason", "candidates", "rejected"}: what a communicator on these devices
/// would take for the case and why; of each algorithm the plan that should be best, and every plan that was measured.
/// `table`: one that suits the machine; null where there is none. `simulated`: of a machine that is not here, where
/// nothing was measured, every plan with the fastest first; they decide then, as they know each link, and the cost
/// model one rate for all. Pure.
Json explain(const Question& question, const machine::Machine& machine, const Table* table,
             const std::vector<Simulated>& simulated = {});

}  // namespace sennit::plan
