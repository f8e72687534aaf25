// Holds what every program that only broadcasts needs to know.
#pragma once

#include "coll/slice_chunks.h"
#include "coll/team.h"

namespace sennit::coll {

struct BroadcastCall {
  const std::byte* input = nullptr;  ///< of the root alone
  std::byte* output = nullptr;       ///< of every rank; the root's may be its input
  std::uint64_t bytes = 0;
  int root = 0;
  Partition partition;  ///< of `bytes`, as the program wants it
};

}  // namespace sennit::coll
