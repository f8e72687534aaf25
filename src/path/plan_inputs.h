// Holds what a node's messages are planned from: the machine, and what was measured to be fastest on it.
#pragma once

#include <memory>

#include "device/executor.h"
#include "machine/machine.h"
#include "path/transfer_engine.h"
#include "path/tuned.h"

namespace sennit::path {

struct PlanInputs {
  machine::Machine machine;
  std::shared_ptr<const PutTable> tuned;  ///< null where puts were never tuned
};

/// Returns the table that this rank has kept for the machine, or null. One that cannot be read is a warning.
std::shared_ptr<const PutTable> tuned_puts(const machine::Machine& machine);
/// Returns what SENNIT_MACHINE names, or this machine as measured before, else as discovered; with its table of puts.
/// Errors: those of node::find_machine.
Result<PlanInputs> find_plan_inputs(const device::Executor& executor);

/// Reads the options from the environment. Several paths are taken only where they measured faster here (`tuned`), or
/// where the user named the machine to plan from (`given`, SENNIT_MACHINE) or the shares. Errors: invalid_argument
/// names the variable.
Result<TransferEngine::Options> transfer_options(bool tuned, bool given);

}  // namespace sennit::path
