// Tells how near each two GPUs of a machine are, by every metric.
#pragma once

#include <string>

#include "bench/program.h"

namespace sennit::bench {

/// Prints the document of kind "map pairs". Errors: those of the command line.
Result<Exit> print_pairs(const std::string& machine);

}  // namespace sennit::bench
