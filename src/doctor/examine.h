// Makes all checks, in the order they are shown: first what sennit is and stands on, then GPUs, memory, neighbours.
#pragma once

#include <string>
#include <vector>

#include "doctor/check.h"
#include "doctor/situation.h"

namespace sennit::doctor {

/// Asks everything at once and judges the answers: about two seconds on a machine with GPUs, each that hangs adds at
/// most its limit.
std::vector<Check> examine(const Situation& situation);

/// Runs one probe in this process: `what` is its name, then its arguments. Errors: invalid_argument.
Status run_probe(const std::vector<std::string>& what);

}  // namespace sennit::doctor
