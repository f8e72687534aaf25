// Holds what a simulation says of a job: how long it took, what held it up, and what its links had to carry.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sennit::sim {

/// Part of the time from begin to end, on the way along which nothing could have been sooner.
struct Critical {
  std::string what;  ///< "gpu0>nvswitch0 is full", "blocks of gpu0 move no faster", "signals", "launches", …
  double us = 0;
  bool shared = false;  ///< a link or a memory that others use too, who might have been elsewhere meanwhile
};

struct Load {
  std::string resource;  ///< as Fabric names it
  double bytes = 0;      ///< each times its use's weight
  double busy = 0;       ///< part of what it could have carried in the time
};

struct Outcome {
  double us = 0;
  std::vector<Critical> critical;  ///< longest first; together `us`
  std::vector<Load> loads;         ///< busiest first, without idle ones
  std::uint64_t flows = 0;
};

}  // namespace sennit::sim
