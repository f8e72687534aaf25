// Keeps the calls between ncclGroupStart and ncclGroupEnd, and says in which order they are done at its end.
//
// All calls of a group belong together: no call may have to end before another one begins, if that could keep ranks
// waiting for each other that group their calls otherwise. Which library does a call is decided for each by itself,
// by what all ranks know (Decider): what else a rank has in its group, the others do not know.
//
// 1. Where sennit does none of them, all are one group of NCCL's.
// 2. Else collectives are sorted into turns, since those of one communicator are in order on all ranks:
//    sennit's first ones of each, then NCCL's that follow, all as one group, then sennit's again. One group,
//    since NCCL may have to meet a communicator's other ranks in it, which may be of this thread or call others
//    first. A call's turn is the same on all ranks of its communicator, and waits for earlier turns alone.
// 3. A communicator whose collectives here are all sennit's has them on a side stream, beside others.
// 4. Else they stay on their streams.
// 5. Messages come last, as NCCL has them, too: sennit's of each communicator as one launch, NCCL's of all as one
//    group.
//
// Why messages of both libraries never keep ranks waiting that NCCL alone would not: both ends of a message look at
// its bytes alone, so they agree whose it is, and between two ranks each library gets its messages in the order in
// which both ends have them. Of a group, sennit's launch and NCCL's are on streams of their own, behind what came
// before the group and before what follows it, and find room on a GPU at the same time (plan::Room). So
// a rank is at one group at a time, as under NCCL, and everything in it can move: within a launch of sennit's no
// message waits for another one but for those before it to or from the same peer (coll/messages.h). If all ranks
// waited, then each for a message whose other end is in a later group of a rank that waits, too; and so would they
// under NCCL. That some messages fit into slots, and are sent before the receiver comes, only ends waits.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "shim/nccl/call.h"

namespace sennit::shim::nccl {

struct CommState;

struct GroupedCall {
  Call call;
  bool ours = false;       ///< sennit does it
  std::string_view how;    ///< as Decision::how
  bool to_itself = false;  ///< a message of a rank to itself
  /// The call's communicator, which another thread may end meanwhile.
  std::shared_ptr<CommState> state = nullptr;
  std::shared_ptr<const void> held_operator =
      nullptr;  ///< of the program's, if the call names one: see HeldOperators
};

/// Calls in a row that one library does, or messages at the same time.
struct Run {
  bool ours = false;
  bool on_side_stream = false;  ///< of sennit's: see StreamOrder::side_stream()
  std::vector<GroupedCall> calls;
  bool messages = false;  ///< to be begun, with the runs that follow, before any of them is waited for
};

/// Leaves to NCCL what a rank sends itself and does not receive in the same group, or the other way round: an error
/// that NCCL has a word for. No other rank knows of it. Pure.
void leave_unpaired(std::span<GroupedCall> calls);

/// Sorts calls into the order in which they are to be begun. Pure.
std::vector<Run> arrange(std::span<const GroupedCall> calls);

}  // namespace sennit::shim::nccl
