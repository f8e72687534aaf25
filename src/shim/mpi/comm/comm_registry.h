// Keeps the program's communicators as the drop-in knows them: which have all their ranks on this node, what those
// ranks say of their calls, and sennit's communicator beside each.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "comm/group.h"
#include "shim/mpi/comm/call_queue.h"
#include "shim/mpi/comm/call_scope.h"
#include "shim/mpi/comm/collective_vote.h"
#include "shim/mpi/comm/communicator.h"
#include "shim/mpi/comm/control_exchange.h"
#include "shim/mpi/comm/exchange.h"
#include "shim/mpi/comm/node_vote.h"
#include "shim/mpi/comm/peer_query.h"
#include "shim/mpi/comm/several_nodes.h"
#include "shim/switches.h"

namespace sennit::shim::mpi {

struct Handshake;
struct CommInfo;

/// One of the program's communicators.
struct CommState {
  CommState();
  ~CommState();

  CommShape shape;
  std::vector<int> ranks;  ///< of MPI_COMM_WORLD, negative for those of other jobs; of both groups where it has two
  /// Says that its ranks have met: what follows is known of all of them. Until then only this rank's own votes are
  /// known.
  std::atomic<bool> ready{false};
  std::uint64_t key = 0;                 ///< orders communicators alike on all their ranks
  std::unique_ptr<CollectiveVote> vote;  ///< of its ranks on this node; null where they are not known
  bool broken = false;                   ///< a rank was lost before they had met
  bool whole = false;                    ///< all its ranks are known; else calls are left to the real functions
  std::optional<Nodes> nodes;            ///< where they are several
  std::string why_not;                   ///< it is not whole, or has no sennit communicator
  int slot = -1;
  bool tried = false;  ///< to make sennit's communicator
  std::unique_ptr<Communicator> communicator;
  OneNode* on_node = nullptr;  ///< sennit's communicator, where it is one of ranks on this node

  /// Returns whether this rank leads its node in the communicator.
  bool leads() const { return nodes->place(shape.rank).rank == 0; }

  CallQueue queue;                  ///< of calls that end in a request
  std::atomic<bool> waits{false};   ///< whether any of those waits,
  std::atomic<bool> active{false};  ///< or is being done by sennit
  std::optional<int> device;        ///< that those are on, until sennit's communicator has one
  /// Says who takes part in calls that no vote counts; no value: not asked yet, or some ranks are of another job.
  std::optional<CallScope> scope;
  bool asked = false;  ///< for those

  /// Persistent collective calls may start in another order on each rank, so each that sennit does has a sennit
  /// communicator of its own, and a queue of its own; in the order of their initialization. The call that does one
  /// holds it.
  std::vector<std::shared_ptr<CommState>> persistent_calls;

 private:
  friend class CommRegistry;
  std::unique_ptr<Handshake> handshake;  // while its ranks meet
  std::unique_ptr<comm::Slot> no_slot;   // in the place of a shared one where none is left
  std::thread making;                    // sennit's communicator
  std::atomic<bool> made{false};
  Result<std::unique_ptr<OneNode>> result = std::unique_ptr<OneNode>();
};

/// This process's slots for votes in the control segment. Not thread-safe.
class VoteSlots {
 public:
  /// -1: no slot is left.
  int take() {
    if (free_.empty()) return next_ < comm::RankSlots::kVotes ? next_++ : -1;
    const int slot = free_.back();
    free_.pop_back();
    return slot;
  }
  /// `slot`: below 0: no slot was taken.
  void give_back(int slot) {
    if (slot >= 0) free_.push_back(slot);
  }

 private:
  std::vector<int> free_;
  int next_ = 0;
};

/// All of the program's communicators, and what this process has of each. It has more than 25 functions, since the
/// handshake of a communicator, sennit's beside it and their end change the same map. Lock: mutex_, of the map; a
/// CommState is changed by who makes a collective call on it, of which MPI allows one at a time, or under the lock of
/// CallQueues. Thread-safe.
class CommRegistry {
 public:
  /// Is called again and again while this rank waits for others: they may wait for something of it.
  using Meanwhile = std::function<void()>;

  /// Collective over MPI_COMM_WORLD. `between`: how collectives of several nodes are to travel. Errors: those of
  /// Group::create, the same on every rank.
  static Result<std::unique_ptr<CommRegistry>> create(const Mpi& mpi, Between between = Between::rails);
  ~CommRegistry();

  comm::Group& group() { return *group_; }
  NodeVote& node_vote() { return *node_vote_; }
  PeerQuery& peer_query() { return *peer_query_; }
  CallScopes& scopes() { return scopes_; }
  /// Returns a communicator of all ranks of MPI_COMM_WORLD, for the drop-in alone; kNoHandle where they are on one
  /// node, or it could not be made.
  Handle beside() const { return beside_; }
  std::array<std::uint64_t, 2> job() const { return {job_, ~job_}; }

  /// Says which process a rank of a communicator is.
  struct Peer {
    int world_rank = -1;  ///< of MPI_COMM_WORLD; -1 for one of another job
    /// Tells of the communicator's ranks and their order, alike on all of them; 0 where it has two groups.
    std::uint64_t members = 0;
  };
  /// Finds out who is behind a rank. Local.
  Peer peer(Handle comm, int rank);
  int world_rank(Handle comm, int rank) { return peer(comm, rank).world_rank; }

  /// This process looks at all messages it receives: others may announce theirs to it. And whether another does.
  void listen();
  bool listens(int world_rank);

  /// Returns whether the ranks in `awaited`, of MPI_COMM_WORLD and on other nodes, have come to this rank's latest
  /// call of `one`; where some have no part in the call, whether all its ranks on other nodes have. False while that
  /// is not known.
  bool came_elsewhere(const CommState& one, std::span<const int> awaited);

  /// Names a file or a window that all ranks of `comm` have made, in this rank's latest call there.
  void name(Shared kind, Handle made, Handle comm);
  /// Collective over `comm`, whose rank `leader` and the rank `remote` of `between` do the same, in a communicator of
  /// others: all ranks of both have come. Errors: one of them was lost.
  Status both_come(Handle comm, int leader, Handle between, int remote, int tag, const Meanwhile& meanwhile);

  /// ok while all of its ranks live.
  Status check(const CommState& one) const { return group_->check(one.ranks); }
  Status check(Handle comm) const;

  /// While one lives, this thread frees `comm`, which callbacks of the program's may use for the last time: their
  /// calls are the real functions', since what sennit made for it could not be freed behind it.
  class Leaving {
   public:
    explicit Leaving(Handle comm) : comm_(comm), outer_(std::exchange(innermost, this)) {}
    ~Leaving() { innermost = outer_; }
    Leaving(const Leaving&) = delete;
    Leaving& operator=(const Leaving&) = delete;
    static bool is(Handle comm) {
      const Leaving* one = innermost;
      while (one != nullptr && one->comm_ != comm) one = one->outer_;
      return one != nullptr;
    }

   private:
    inline static thread_local const Leaving* innermost = nullptr;
    const Handle comm_;
    const Leaving* const outer_;
  };
  /// Local: `comm` is freed, and its handle may be another one's. What callbacks had seen of it meanwhile is
  /// forgotten.
  void forget_freed(Handle comm);

  /// Returns what is known of a communicator; null: not seen before.
  CommState* find(Handle comm) const;
  /// Collective over `comm`, in its first collective call: its ranks begin to meet.
  CommState& begin_handshake(Handle comm);
  CommState& find_or_begin(Handle comm) {
    CommState* const known = find(comm);
    return known != nullptr ? *known : begin_handshake(comm);
  }
  /// Collective over `comm`: what each rank says. No value for a communicator that is revoked.
  std::optional<std::vector<std::uint64_t>> ask(Handle comm, const CommState& one, std::uint64_t mine,
                                                const Meanwhile& meanwhile) const;
  /// Collective over `comm`: one more for a persistent call. Where it has no sennit communicator, on every rank,
  /// `why_not` says why.
  std::shared_ptr<CommState> repeat(Handle comm, CommState& one, Result<std::shared_ptr<device::Executor>> executor,
                                    int device, const Meanwhile& meanwhile);
  /// Moves on the handshake of the communicator's ranks, and returns whether it has ended.
  bool ready(Handle comm, CommState& one);
  /// Says why such work on several nodes is left to the real function; empty: it is not. Equal on all ranks.
  std::string_view why_not(const CommState& one, const Work& work) const {
    return SeveralNodes::why_not(mpi_, work, *one.nodes, way(*one.nodes));
  }
  /// Collective: makes sennit's communicator. Where that fails, on every rank, there is none and `why_not` says why.
  void match(Handle comm, CommState& one, Result<std::shared_ptr<device::Executor>> executor, int device);
  /// Makes it likewise for ranks on this node, by a thread, without a call of MPI. matched() returns whether there is
  /// such a communicator; no value while it is being made, or was never begun.
  void begin_to_match(CommState& one, Result<std::shared_ptr<device::Executor>> executor, int device);
  std::optional<bool> matched(CommState& one);

  /// Collective over `comm`, before it is freed: closes what sennit has beside it.
  void forget(Handle comm, const Meanwhile& meanwhile);
  /// Collective over MPI_COMM_WORLD: all of them. False where a rank was lost, for which MPI would wait for ever.
  bool forget_all();

 private:
  CommRegistry(const Mpi& mpi, std::unique_ptr<comm::Group> group, Between between);
  static void keep_for_ever(std::shared_ptr<void> pending);
  std::unique_ptr<CommState> make(Handle comm);
  /// Returns why calls are left to the real functions, by what all ranks say; empty: they are not.
  std::string look_at(std::span<const CommInfo> infos, CommState& one) const;
  /// Ends the handshake, in which all ranks have given their infos; empty: they could not be asked.
  void finish_handshake(CommState& one, std::vector<CommInfo> infos);
  Status take(CommState& one, Result<std::unique_ptr<OneNode>> made);
  void say_unmatched(const CommState& one, const Status& status) const;
  void close(Handle comm, CommState& one, const Meanwhile& meanwhile);
  net::Way way(const Nodes& nodes) const {
    if (between_ == Between::leaders) return net::Way::leaders;
    return nodes.alike && between_ == Between::rails ? net::Way::rails : net::Way::adapters;
  }
  /// Waits for all ranks of `comm`; false where one of them will not come.
  bool all_come(Handle comm, const Meanwhile& meanwhile) const;
  /// Waits until what has begun on `comm` is done, or never will be: then kNeverDone. Returns MPI's code.
  int finish(Handle comm, Handle request, const Meanwhile& meanwhile) const;
  comm::Slot& slot_of(int world_rank, int slot) const {
    return group_->slots(world_rank).votes[static_cast<std::size_t>(slot)];
  }
  /// Waits until the living ranks of this node have come to the end, too: they may still want what was left for them.
  void await_node();

  const Mpi& mpi_;
  const std::unique_ptr<comm::Group> group_;
  const Between between_;
  const std::unique_ptr<NodeVote> node_vote_;
  const std::unique_ptr<ControlExchanges> control_exchanges_;
  const std::unique_ptr<PeerQuery> peer_query_;
  CallScopes scopes_;
  Handle beside_ = kNoHandle;
  std::uint64_t job_ = 0;  // known to its ranks alone
  /// Sets a number that no other state of any of these objects has had.
  void changed();
  std::atomic<std::uint64_t> state_{0};
  mutable std::shared_mutex mutex_;
  std::unordered_map<Handle, std::unique_ptr<CommState>> all_;
  VoteSlots slots_;
  std::uint64_t met_ = 0;
  struct Members {
    std::vector<int> ranks;  // of MPI_COMM_WORLD
    std::uint64_t name = 0;  // Peer::members
    Peer peer(int rank) const {
      const bool known = rank >= 0 && rank < static_cast<int>(ranks.size());
      return {known ? ranks[static_cast<std::size_t>(rank)] : -1, name};
    }
  };
  Members ask_members(Handle comm) const;
  std::unordered_map<Handle, Members> members_;  // by communicator
};

}  // namespace sennit::shim::mpi
