// The program's communicators as the drop-in knows them: which have all their ranks on this node, what those ranks say of
// their calls, and sennit's communicator beside each.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "comm/group.h"
#include "shim/mpi/board.h"
#include "shim/mpi/counterpart.h"

namespace sennit::shim::mpi {

class Communicators {
 public:
  struct One {
    CommShape shape;
    std::uint64_t key = 0;          ///< orders communicators alike on all their ranks
    std::unique_ptr<Board> board;   ///< null: calls are left to the real functions, on every rank
    std::string why_not;            ///< there is no board, or no counterpart
    int slot = -1;
    bool tried = false;             ///< to make the counterpart
    std::unique_ptr<Counterpart> counterpart;
  };

  /// Collective over MPI_COMM_WORLD. Errors: those of Group::create, the same on every rank.
  static Result<std::unique_ptr<Communicators>> create(const Mpi& mpi);

  const comm::Group& group() const { return *group_; }

  /// Null: not seen before.
  One* find(Handle comm) const;
  /// Collective over `comm`, in its first blocking collective call.
  One& meet(Handle comm);
  One& find_or_meet(Handle comm) {
    One* const known = find(comm);
    return known != nullptr ? *known : meet(comm);
  }
  /// Collective: makes the counterpart. Where that fails, on every rank, there is none and `why_not` says why.
  void match(Handle comm, One& one, Result<std::shared_ptr<device::Executor>> executor, int device);

  /// Collective over `comm`, before it is freed: closes what sennit has beside it.
  void forget(Handle comm);
  /// Collective over MPI_COMM_WORLD: all of them.
  void forget_all();

 private:
  Communicators(const Mpi& mpi, std::unique_ptr<comm::Group> group, std::uint64_t job)
      : mpi_(mpi), group_(std::move(group)), job_(job) {}
  void close(Handle comm, One& one);
  int take_slot();

  const Mpi& mpi_;
  const std::unique_ptr<comm::Group> group_;
  const std::uint64_t job_;  // tells ranks of this job from those of others: spawned ones
  mutable std::shared_mutex mutex_;
  std::unordered_map<Handle, std::unique_ptr<One>> all_;
  std::vector<int> free_slots_;
  int next_slot_ = 0;
  std::uint64_t met_ = 0;
};

}  // namespace sennit::shim::mpi
