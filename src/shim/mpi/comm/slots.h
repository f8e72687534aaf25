// Which slots of the control segment the drop-in uses, of those that each rank has there (comm/control.h). They come
// behind path's, which are the first (path/bell.h). From there on communicators take theirs, upwards: one each for
// what this rank votes (collective_vote.h).
#pragma once

#include "comm/control.h"

namespace sennit::shim::mpi {

/// Messages that a rank may have on their way at once, each with a slot for its RTS and one for its RTR: a limit; the
/// next ones are staged.
inline constexpr int kMessageSlots = 112;
/// The last ones: for the RTSs, then for the RTRs.
inline constexpr int kFirstMessageSlot = comm::ControlSegment::kSlots - 2 * kMessageSlots;
/// For what a rank tells of itself: that it watches its receives, that it has come to MPI's end.
inline constexpr int kListeningSlot = kFirstMessageSlot - 1;
/// For the lock of a rank's memory in windows (target_lock.h).
inline constexpr int kTargetLockSlot = kListeningSlot - 1;
/// Behind the last one of communicators.
inline constexpr int kVoteSlotsEnd = kTargetLockSlot;

}  // namespace sennit::shim::mpi
