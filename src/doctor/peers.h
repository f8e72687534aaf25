// Checks GPU to GPU: which reach each other, over what, and whether the bytes arrive.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "doctor/ask.h"
#include "doctor/check.h"
#include "doctor/management.h"
#include "doctor/situation.h"

namespace sennit::doctor {

/// One direction: `from` writes into `to`'s memory and reads it back.
struct DirectionReading {
  int from = 0, to = 0;  ///< indices into PeerReadings::devices
  bool reaches = false;
  Status bytes;  ///< ok when they arrived; meaningful where it reaches
};

struct PeerReadings {
  std::string trouble;                            ///< the process crashed or fell silent; empty when it ended well
  std::optional<std::pair<int, int>> last_tried;  ///< the direction it was at when it did
  Status opened;                                  ///< of the executor
  std::vector<std::string> devices;               ///< PCI addresses in CUDA's order; empty until opened
  std::optional<Status> pinned;                   ///< of pinning the memory asked for; absent until tried
  std::vector<DirectionReading> directions;
};

/// Opens the cuda executor, pins `pinned` bytes, and tries every direction; runs in a process of its own.
void probe_peers(std::uint64_t pinned);
PeerReadings peer_readings(const Answer& answer);

/// Judges which pairs reach each other, and over what.
Check judge_peers(const Situation& situation, const PeerReadings& peers, const machine::NvmlReadings& nvml);
/// Judges whether what was written arrived.
Check judge_peer_bytes(const Situation& situation, const PeerReadings& peers, const machine::NvmlReadings& nvml);

}  // namespace sennit::doctor
