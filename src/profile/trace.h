// The single calls of a profile as a trace for a viewer of timelines.
#pragma once

#include <ostream>

#include "profile/merge.h"

namespace sennit::profile {

/// A process a rank, a thread a row of it. Times begin with the first call of each host. `kept`: numbers of the files
/// that are of the run. Each is read twice. Errors: those of the first file that cannot be read.
Status write_trace(std::ostream& out, const std::vector<std::size_t>& kept, ReadFile read);

}  // namespace sennit::profile
