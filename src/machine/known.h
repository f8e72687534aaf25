// Finds the machine that decisions are made from, in one way for all who need it.
#pragma once

#include <string_view>
#include <vector>

#include "machine/discover.h"

namespace sennit::machine {

struct Known {
  Machine machine;
  bool discovered = false;  ///< it was neither measured nor named: its figures are specifications and assumptions
};

/// Finds the machine called `named` (a shipped one's name, or a file), or by SENNIT_MACHINE where that is empty; else
/// this machine as it was measured; else as it can be discovered, with `executor` and `extras` as for this_machine().
/// GPUs ("cuda") are discovered once in a process (probe.h). Errors: those of load() and this_machine().
Result<Known> known_machine(std::string_view named, std::string_view executor,
                            const std::vector<GpuExtra>& extras = {});

/// Begins to look at this machine's GPUs on a thread, so that known_machine("cuda") has less to wait for later; once
/// in a process, and not where SENNIT_MACHINE names another machine.
void prefetch_machine();

}  // namespace sennit::machine
