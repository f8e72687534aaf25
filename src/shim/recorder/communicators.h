// The communicators that a program has, as the profile names them: by an id that all of a communicator's ranks
// compute alike, without a message.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "profile/recorder.h"
#include "shim/mpi/abi/mpi.h"

namespace sennit::shim::recorder {

/// The handle of MPI or NCCL, as 64 bits.
using Handle = std::uint64_t;

struct KnownCommunicator {
  std::uint16_t index = 0;                 ///< in the profile; 0: not known
  int own_rank = -1;                       ///< this process's; -1: not known
  std::uint64_t id = 0;                    ///< profile::Communicator's; 0: not known, so its calls have no sequence
  std::atomic<std::uint32_t> sequence{0};  ///< calls of all its ranks so far
  std::atomic<std::uint32_t> children{0};  ///< calls so far that made communicators of it
  /// The number of a call of all ranks that begins now; 0 where ranks could not match it.
  std::uint32_t next_call() { return id == 0 ? 0 : sequence.fetch_add(1, std::memory_order_relaxed) + 1; }
  mpi::CommShape shape;          ///< of one of MPI's
  std::vector<int> world_ranks;  ///< by rank of those that messages go to; empty: not known
  int world_rank(int rank) const {
    return rank >= 0 && static_cast<std::size_t>(rank) < world_ranks.size()
               ? world_ranks[static_cast<std::size_t>(rank)]
               : -1;
  }
};

/// Thread-safe. find() takes no lock for the communicator that the thread used last.
class KnownCommunicators {
 public:
  /// `members`: ranks of the job, of all groups. Communicators of the same members are told apart by the order in
  /// which they were made, which is the same on all of them. `world_ranks`: see KnownCommunicator.
  KnownCommunicator& add(profile::Recorder& recorder, Handle handle, const mpi::CommShape& shape,
                         std::vector<int> members, std::vector<int> world_ranks, std::string_view name);
  /// Adds a communicator whose id is known already, or 0. `rank`: of this process; -1: not known.
  KnownCommunicator& add(profile::Recorder& recorder, Handle handle, const profile::Communicator& made, int rank);
  /// Null where the handle was never added, or has been freed.
  KnownCommunicator* find(Handle handle);
  /// The handle may be another communicator's from now on.
  void forget(Handle handle);

 private:
  KnownCommunicator& put(profile::Recorder& recorder, Handle handle, const profile::Communicator& made);

  std::mutex mutex_;
  std::atomic<std::uint64_t> changes_{1};
  std::unordered_map<Handle, KnownCommunicator*> known_;
  std::deque<KnownCommunicator> all_;            ///< freed ones too: a thread may be in a call of one
  std::map<std::uint64_t, std::uint32_t> made_;  ///< by members: communicators so far
};

/// FNV-1a.
std::uint64_t hash_of(const void* data, std::size_t bytes, std::uint64_t seed = 0xcbf29ce484222325u);

}  // namespace sennit::shim::recorder
