// A choice as a JSON document: the answer of `sennit explain allreduce`.
#pragma once

#include "base/json.h"
#include "device/executor.h"
#include "plan/table.h"

namespace sennit::plan {

struct Question {
  coll::Case which;
  device::Reduction reduction;
  Layout layout;
  std::uint64_t scratch_bytes = 0;
  device::Kind kind = device::Kind::cuda;
};

/// {"operation", …, "source", "chosen", "reason", "candidates", "rejected"}: what a communicator on these devices
/// would take for the case and why; of each algorithm the plan that should be best, and every plan that was measured.
/// `table`: one that suits the machine; null where there is none. Pure.
Json explain(const Question& question, const machine::Machine& machine, const Table* table);

}  // namespace sennit::plan
