// Writes a replayed job as a trace of events that timeline viewers open (Perfetto, chrome://tracing).
#pragma once

#include <ostream>

#include "sim/replay.h"

namespace sennit::sim {

/// A process a rank, a thread a strand; times in µs.
void write_timeline(std::ostream& out, const device::Recording& recording, const Replayed& replayed);

}  // namespace sennit::sim
