// Condenses what all ranks of a collective call must give alike into a few bits: ranks that disagree, which MPI does
// not allow, find out before anything is read or written (collective_vote.h).
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace sennit::shim::mpi {

struct Work;

/// Two calls that differ have one signature by chance one time in 16 million.
inline constexpr int kSignatureBits = 24;
inline constexpr std::uint32_t kSignatureMask = (1U << kSignatureBits) - 1;

/// Condenses the function, how much is reduced or moved for each rank, of which type, by which operator, from or to
/// which root. Of calls whose messages have different lengths: the function and the root.
std::uint32_t signature_of(const Work& work);

/// "500 x int32, sum", "2000 bytes, root 3": what a rank gives.
std::string describe(const Work& work);

/// Returns a mismatch: this rank of the communicator gives another thing than rank 0.
Status disagreement(int rank);
/// Adds to a mismatch what the rank that is told gives; returns other statuses as they are.
Status given_by(const Work& work, const Status& status);

}  // namespace sennit::shim::mpi
