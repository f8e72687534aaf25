// The program's communicators as the drop-in knows them: which have all their ranks on this node, what those ranks
// say of their calls, and sennit's communicator beside each.
#pragma once

#include <array>
#include <atomic>
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
#include "shim/mpi/council.h"
#include "shim/mpi/counterpart.h"
#include "shim/mpi/exchange.h"
#include "shim/mpi/several_nodes.h"
#include "shim/switches.h"

namespace sennit::shim::mpi {

class Communicators {
 public:
  struct One {
    CommShape shape;
    std::uint64_t key = 0;         ///< orders communicators alike on all their ranks
    std::unique_ptr<Board> board;  ///< of its ranks on this node; null where nobody knows them
    bool whole = false;            ///< all its ranks are known; else calls are left to the real functions
    std::optional<Nodes> nodes;    ///< where they are several
    std::string why_not;           ///< it is not whole, or has no counterpart
    int slot = -1;
    bool tried = false;  ///< to make the counterpart
    std::unique_ptr<Counterpart> counterpart;

    /// Whether this rank speaks for its node.
    bool speaks() const { return nodes->place(shape.rank).rank == 0; }
  };

  /// Collective over MPI_COMM_WORLD. `between`: how collectives of several nodes are to travel. Errors: those of
  /// Group::create, the same on every rank.
  static Result<std::unique_ptr<Communicators>> create(const Mpi& mpi, Between between = Between::rails);
  ~Communicators();

  comm::Group& group() { return *group_; }
  Council& council() { return *council_; }
  std::array<std::uint64_t, 2> job() const { return {job_, ~job_}; }

  /// The rank of MPI_COMM_WORLD that messages to `rank` of `comm` go to, if it is another process of this node; else
  /// -1. Local.
  int neighbour(Handle comm, int rank);
  /// The rank of MPI_COMM_WORLD behind a rank of `comm`; -1 for one of another job. Local.
  int world_rank(Handle comm, int rank);

  /// This process looks at all messages it receives: others may announce theirs to it. And whether another does.
  void listen();
  bool listens(int world_rank);

  /// Null: not seen before.
  One* find(Handle comm) const;
  /// What this rank does while it waits for others, again and again: they may wait for something of it.
  using Meanwhile = std::function<void()>;
  /// Collective over `comm`, in its first blocking collective call.
  One& meet(Handle comm, const Meanwhile& meanwhile);
  One& find_or_meet(Handle comm, const Meanwhile& meanwhile) {
    One* const known = find(comm);
    return known != nullptr ? *known : meet(comm, meanwhile);
  }
  /// Why such work on several nodes is left to the real function; empty: it is not. The same on all ranks.
  std::string_view why_not(const One& one, const Work& work) const {
    return SeveralNodes::why_not(mpi_, work, *one.nodes, way(*one.nodes));
  }
  /// Collective: makes the counterpart. Where that fails, on every rank, there is none and `why_not` says why.
  void match(Handle comm, One& one, Result<std::shared_ptr<device::Executor>> executor, int device);

  /// Collective over `comm`, before it is freed: closes what sennit has beside it.
  void forget(Handle comm, const Meanwhile& meanwhile);
  /// Collective over MPI_COMM_WORLD: all of them. False where a rank was lost, for which MPI would wait for ever.
  bool forget_all(const Meanwhile& meanwhile);

 private:
  Communicators(const Mpi& mpi, std::unique_ptr<comm::Group> group, Between between);
  struct Card;
  struct Gathering;
  static void keep_for_ever(std::unique_ptr<Gathering> gathering);
  /// What the cards say of the communicator; why calls are left to the real functions, if they are.
  std::string look_at(std::span<const Card> cards, One& one) const;
  void close(Handle comm, One& one, const Meanwhile& meanwhile);
  net::Way way(const Nodes& nodes) const {
    return nodes.alike && between_ == Between::rails ? net::Way::rails : net::Way::leaders;
  }
  int all_gather(Handle comm, const void* mine, void* all, int bytes, const Meanwhile& meanwhile) const;
  /// Waits for all ranks of `comm`; false where one of them will not come.
  bool all_come(Handle comm, const Meanwhile& meanwhile) const;
  /// Until what has begun on `comm` is done, or never will be: then kNeverDone. MPI's code.
  int finish(Handle comm, Handle request, const Meanwhile& meanwhile) const;
  int take_slot();
  comm::Slot& listening(int world_rank);

  const Mpi& mpi_;
  const std::unique_ptr<comm::Group> group_;
  const Between between_;
  const std::unique_ptr<Council> council_;
  std::uint64_t job_ = 0;  // tells ranks of this job from those of others: spawned ones
  /// A number that no other state of any of these objects has had.
  void changed();
  std::atomic<std::uint64_t> state_{0};
  mutable std::shared_mutex mutex_;
  std::unordered_map<Handle, std::unique_ptr<One>> all_;
  std::vector<int> free_slots_;
  int next_slot_ = 0;
  std::uint64_t met_ = 0;
  std::unordered_map<Handle, std::vector<int>> world_ranks_;  // by communicator
};

}  // namespace sennit::shim::mpi
