// Who takes part in a call of all ranks that no board counts (board.h): one of two groups, a group, a file or a
// window. Such calls are counted by the name that all their ranks give them (Questions::arrive). It is made of the
// ranks, so threads of a rank that make several calls of the same ranks at once may take one for another.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <span>
#include <utility>
#include <vector>

#include "shim/mpi/mpi.h"

namespace sennit::shim::mpi {

/// Tells of ranks and their order.
std::uint64_t name_of(std::span<const int> ranks);

/// The ranks of such a call.
struct Participants {
  std::uint64_t name = 0;
  std::vector<int> others;  ///< of MPI_COMM_WORLD, ascending, without this one
};

/// Those of all calls of this process. Local. Thread-safe.
class AllParticipants {
 public:
  /// `rank`: this one, of MPI_COMM_WORLD.
  AllParticipants(const Mpi& mpi, int rank) : mpi_(mpi), rank_(rank) {}

  /// All of a communicator's, of both groups where it has two; of a group's, which are told from those of other calls
  /// by a tag. None where some are of another job, alike on all of them.
  std::optional<Participants> of(Handle comm) const;
  std::optional<Participants> of(Handle group, int tag) const;
  /// Of all of a file's or a window's, which are asked for once until it is forgotten; null: some are of another job.
  std::shared_ptr<const Participants> of(Shared kind, Handle handle);
  void forget(Shared kind, Handle handle);

 private:
  /// `salt`: what tells them from others of the same ranks.
  std::optional<Participants> make(std::vector<int> ranks, std::uint64_t salt) const;

  const Mpi& mpi_;
  const int rank_;
  std::shared_mutex mutex_;
  std::map<std::pair<Shared, Handle>, std::shared_ptr<const Participants>> shared_;
};

}  // namespace sennit::shim::mpi
