// The calls between ncclGroupStart and ncclGroupEnd, and in which order they are done at its end.
//
// All calls of a group belong together: none may have to end before another one begins, if that could keep ranks
// waiting for each other that group their calls otherwise. Which library does a call is decided for each by itself,
// by what all ranks know (Counterpart::judge): what else a rank has in its group, the others do not know.
//
// 1. Where sennit does none of them, all are one group of NCCL's.
// 2. Else they are sorted by communicator, since those of one are in order on all ranks, grouped or not; messages
// come
//    last, as one group of NCCL's over all communicators: so NCCL has them, too.
// 3. A communicator whose calls here are all sennit's has them on a lane of its own, if others are in the group.
// 4. Else its calls stay in their order: runs of NCCL's are a group each.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "shim/nccl/call.h"

namespace sennit::shim::nccl {

struct Grouped {
  Call call;
  bool taken = false;    ///< sennit does it
  std::string_view how;  ///< as Verdict::how
};

/// Calls in a row that one library does.
struct Run {
  bool taken = false;
  bool aside = false;  ///< of sennit's: on the communicator's own lane
  std::vector<Grouped> calls;
};

/// In the order in which they are to be begun. Pure.
std::vector<Run> arrange(std::span<const Grouped> calls);

}  // namespace sennit::shim::nccl
