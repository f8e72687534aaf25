// Says where the buffers of a call are on every rank, as this one reaches them.
#pragma once

#include <cstddef>

#include "coll/team.h"

namespace sennit::coll {

/// Holds the buffers by rank, this one too. They are known where they lie in symmetric windows: see windows.h. Plain
/// data, passed to kernels.
struct PeerPointers {
  std::byte* input[kMostRanks] = {};
  std::byte* output[kMostRanks] = {};
};

}  // namespace sennit::coll
