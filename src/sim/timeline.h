// A replayed job as a trace of events that timeline viewers open (Perfetto, chrome://tracing).
#pragma once

#include "base/json.h"
#include "sim/replay.h"

namespace sennit::sim {

/// A process a rank, a thread a strand; times in µs.
Json timeline_of(const device::Recording& recording, const Replayed& replayed);

}  // namespace sennit::sim
