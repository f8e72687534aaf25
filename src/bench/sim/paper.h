// Implements `sennit-sim paper NAME`: a paper's experiments, done again on its machine.
#pragma once

#include <string>

#include "bench/program.h"

namespace sennit::bench {

/// Prints what the paper says, and what comes of it here. Errors: not_found, listing the names.
Result<Exit> reproduce_paper(const std::string& name);

}  // namespace sennit::bench
