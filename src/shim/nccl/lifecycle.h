// Begins and ends communicators.
//
// A program's ncclComm_t stays NCCL's own, so that whatever sennit does not do is NCCL's as it is. Beside it there is
// a communicator of sennit's (communicator.h), made when NCCL makes the program's, where all ranks run with sennit on
// one machine.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "shim/nccl/open_group.h"
#include "shim/nccl/process.h"

namespace sennit::shim::nccl {

/// Thread-safe.
class Lifecycle {
 public:
  explicit Lifecycle(Process& process) : process_(process) {}

  // NCCL's functions, by their names and with their arguments: see functions.txt.
  int comm_init_rank(Comm* comm, int nranks, UniqueId id, int rank);
  int comm_init_rank_config(Comm* comm, int nranks, UniqueId id, int rank, void* config);
  int comm_init_rank_scalable(Comm* newcomm, int nranks, int myrank, int id_count, UniqueId* ids, void* config);
  int comm_init_all(Comm* comm, int ndev, const int* devlist);
  int comm_split(Comm comm, int color, int key, Comm* newcomm, void* config);
  int comm_shrink(Comm comm, int* excluded, int excluded_count, Comm* newcomm, void* config, int flags);
  int comm_grow(Comm comm, int nranks, const UniqueId* id, int rank, Comm* newcomm, void* config);
  int comm_finalize(Comm comm);
  int comm_destroy(Comm comm);
  int comm_abort(Comm comm);
  int comm_revoke(Comm comm, int flags);
  int comm_get_async_error(Comm comm, int* error);
  const char* get_last_error(Comm comm);

  /// Returns the communicator; null if sennit does not know it. Waits until it is made.
  std::shared_ptr<CommState> find_made(Comm comm);
  /// Begins communicators that NCCL has made, or is about to: `code` is what it returned. One of several, or of one
  /// that does not block, is made on a thread of its own.
  void begin(std::vector<PendingComm> comms, int code);

 private:
  using Make = std::function<int()>;  // NCCL's own function, which leaves the communicator at `made`

  /// Makes a communicator of `most` ranks at most, of which this is number `index`. `key`: what they know and no
  /// others.
  int init(std::string key, int index, int most, const Config& config, Comm* made, const Make& make);
  /// Makes one of another one. `makers`: as ChildCounter has it. `how`: what only those share that will be in it.
  /// `config`: empty: its parent's.
  int make_child(Comm parent, const std::string& makers, std::string_view how, std::optional<Config> config,
                 Comm* made, const Make& make);
  /// Lets NCCL leave the communicator there before its function, or the group, returns.
  int make_now(PendingComm comm, const Make& make);
  /// Lets NCCL leave it there later: see PendingComm::parent.
  int make_later(Comm parent, PendingComm comm, const Make& make);
  /// Makes one that sennit leaves alone.
  int make_without(Comm* made, std::string reason, const Make& make);
  /// Begins the children that NCCL has made meanwhile. Of `ended`, NCCL makes no more; and if that did not end in
  /// order, no child is begun.
  void begin_children(Comm ended = nullptr, bool in_order = true);
  /// Finishes a communicator on a thread, for which `state` waits before it goes, once NCCL has made it.
  void make_on_thread(CommState& state, Comm comm, std::shared_ptr<const Rendezvous> rendezvous);
  /// Finishes a communicator that NCCL has made. Collective over its ranks, as far as sennit is there.
  void finish(CommState& state, const std::shared_ptr<const Rendezvous>& rendezvous, bool own_thread);
  Result<Communicator::Made> connect(CommState& state, const Rendezvous& rendezvous, bool own_thread);
  CommPlace place_of(Comm comm) const;

  /// Ends what no work is under way of any more, or (not `is_done`) what can never complete.
  void release(std::shared_ptr<CommState> state, bool is_done);
  /// Ends whatever sennit does there: who waits for it hears of that. `event`: abort or revoke. Returns true if it
  /// was made by then.
  bool end_at_once(Comm comm, CommEvent event);
  /// Ends what sennit does there, on all ranks; later communicators made of it are as before.
  void leave_to_nccl(Comm comm, std::string reason);
  /// Returns the result of a call that waited for the end of what another thread has aborted.
  int aborted_meanwhile();
  /// Returns the result of a call for which NCCL returned `code`, and that ends what ended with `status` here.
  int ended(int code, const Status& status);

  Process& process_;
  std::mutex children_mutex_;
  std::vector<PendingComm> children_;  // of make_later()
};

}  // namespace sennit::shim::nccl
