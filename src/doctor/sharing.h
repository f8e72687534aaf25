// Checks memory across processes: one process gives memory away, another maps it, both check what the other wrote.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "doctor/ask.h"
#include "doctor/check.h"
#include "doctor/situation.h"

namespace sennit::doctor {

/// Says what is shared: GPU memory by the driver's handle (cudaMalloc) or by an open file (cuMemCreate), or host
/// memory by an open file (memfd).
enum class Sharing { handle, file, host };
std::string_view name(Sharing sharing);

struct SharingReadings {
  std::string trouble;            ///< of the process that gives, or else of the one that takes; empty when both ended
  Status opened;                  ///< of the giver's executor
  std::optional<Status> outcome;  ///< ok: the bytes arrived both ways; absent: it did not get that far
};

/// The two run in processes of their own, joined by a socket at kPassedFile. `host`: share host memory; else both GPU
/// kinds. The giver tells {"opened": …} and then {"sharing": name, "outcome": …} for each kind.
void probe_giver(bool host);
void probe_taker(bool host);

SharingReadings sharing_readings(const Answer& giver, const Answer& taker, Sharing sharing);

Check judge_sharing(const Situation& situation, const SharingReadings& readings, Sharing sharing, bool container);

}  // namespace sennit::doctor
