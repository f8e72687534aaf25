// Says who takes part in a call of all ranks that no vote counts (collective_vote.h): one of two groups, a group, a
// file or a window. Such calls are counted by the name that all their ranks give them (PeerQuery::arrive).
//
// - A file and a window have a name of their own: their ranks make them in a collective call of a communicator, whose
//   key and whose number of that call are the same on all of them.
// - Where the communicator's ranks are not known, and for two groups or a group, the name stands for the ranks:
//   threads of a rank that make several such calls of the same ranks at once may take one for another.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <span>
#include <utility>
#include <vector>

#include "shim/mpi/abi/mpi.h"

namespace sennit::shim::mpi {

/// Tells of ranks and their order.
std::uint64_t name_of(std::span<const int> ranks);

/// The ranks of such a call.
struct CallScope {
  std::uint64_t name = 0;
  std::vector<int> others;  ///< of MPI_COMM_WORLD, ascending, without this one
  bool whole = true;        ///< there are none of another job
};

/// Finds the scopes of all calls of this process. Local. Thread-safe.
class CallScopes {
 public:
  /// `rank`: this one, of MPI_COMM_WORLD.
  CallScopes(const Mpi& mpi, int rank) : mpi_(mpi), rank_(rank) {}

  /// Returns the scope of all ranks of a communicator, of both groups where it has two; or of a group's ranks, which
  /// a tag tells from those of other calls. Ranks of other jobs are left out: what they wait for does not come by way
  /// of sennit.
  std::optional<CallScope> of(Handle comm) const;
  std::optional<CallScope> of(Handle group, int tag) const;
  /// Returns the scope of all ranks of a file or a window, which the MPI is asked for once until it is forgotten;
  /// null: the MPI does not say.
  std::shared_ptr<const CallScope> of(Shared kind, Handle handle);
  /// Names a file or window that all ranks of a communicator have made: they agree on its `key`, and on the `number`
  /// of that call.
  void name(Shared kind, Handle handle, std::uint64_t key, std::uint64_t number);
  /// Forgets it, and returns the name of its own that it had.
  std::optional<std::uint64_t> forget(Shared kind, Handle handle);

 private:
  /// `salt`: what tells them from others of the same ranks.
  std::optional<CallScope> make(std::vector<int> ranks, std::uint64_t salt) const;
  std::shared_ptr<const CallScope> ask(Shared kind, Handle handle, std::optional<std::uint64_t> own) const;

  const Mpi& mpi_;
  const int rank_;
  std::shared_mutex mutex_;
  struct Object {
    std::optional<std::uint64_t> name;  // its own
    std::optional<std::shared_ptr<const CallScope>> scope;
  };
  std::map<std::pair<Shared, Handle>, Object> shared_;
};

}  // namespace sennit::shim::mpi
