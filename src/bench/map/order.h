// In which order the ranks of a profile would send less far, from where their processes were.
#pragma once

#include <string>

#include "bench/program.h"

namespace sennit::bench {

/// Prints the document of kind "map order": of each rank the process, by its rank in the profile, whose place it
/// should take; an empty list where no order is better. A place is a host: what is on it is as near. `profile`: file
/// of its document. Errors: those of place::traffic_of().
Result<Exit> print_order(const std::string& profile);

}  // namespace sennit::bench
