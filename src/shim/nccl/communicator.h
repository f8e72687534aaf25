// Sennit's own communicator beside one of NCCL's, among the same ranks.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "plan/communicator.h"
#include "shim/nccl/abi/config.h"
#include "shim/nccl/call.h"
#include "shim/nccl/comm_info.h"
#include "shim/nccl/decide.h"
#include "shim/nccl/stream_order.h"
#include "shim/nccl/windows.h"
#include "shim/switches.h"
#include "stage/pointer_cache.h"

namespace sennit::shim::nccl {

/// This rank's place in a communicator, as NCCL describes it.
struct CommPlace {
  int rank = 0, size = 1, device = 0;
};

class Communicator {
 public:
  /// The result of create(): null where no call would be sennit's, which users have to expect.
  struct Made {
    std::unique_ptr<Communicator> communicator;
    std::string reason;  ///< why it is null
  };
  /// Collective over the exchange's ranks, all of this machine. Makes no communicator, on every rank, where nothing
  /// was measured beside this NCCL of what SENNIT_OPS names, and where a rank asked NCCL for no kernels. Errors, the
  /// same on every rank: mismatch (switches or tables that differ), unsupported (too many ranks, not one node), those
  /// of plan::own_table, of Node::create and of Collectives::meet. `config`: this rank's; all go by the one that
  /// allows the fewest blocks. `own_thread`: the caller is a thread of sennit's, which has no device yet.
  static Result<Made> create(std::unique_ptr<comm::Exchange> exchange, const CommPlace& place, const Config& config,
                             stage::PointerCache& memories, const Switches& switches, bool own_thread);

  Decider& decider() { return *decider_; }
  StreamOrder& order() { return *order_; }

  /// Enqueues a call that is sennit's. Errors: aborted, if this rank's program has; as Collectives::call. The loss of
  /// another rank is no error: the call waits until abort(), as it would under NCCL, and check() tells.
  /// `on_side_stream`: on StreamOrder::side_stream(), else on the call's stream.
  Status perform(const Call& call, bool on_side_stream);
  /// Enqueues messages of a group that are sennit's, all at the same time. `on_side_stream`: behind all of their
  /// streams; else they have one. Errors: as Collectives::send_receive.
  Status perform_messages(std::span<const Call> calls, bool on_side_stream);
  /// Waits, where GPU memory is emulated, for what was enqueued: nothing else keeps a stream's order there, and
  /// NCCL's stand-in works at once.
  Status finish_emulated();
  /// To be told before a call goes to NCCL, in the order of all ranks; and of one that NCCL then refused.
  void note_nccls(const Call& call);
  void note_refused(const Call& call);
  /// Returns device memory of two bytes, for a message of this rank to itself.
  std::byte* own_message() const { return own_message_.data(); }

  /// Collective: opens a window for calls of sennit's. Errors: those of SymmetricWindows::open; unsupported where a
  /// process has several ranks, or NCCL may still be at work on some rank when its functions return.
  Status open_window(void* data, std::uint64_t bytes, WindowHandle handle);
  /// Gives up a window, if it is one: see SymmetricWindows::close().
  void close_window(WindowHandle handle);
  /// Returns true if NCCL is done on every rank when its functions return.
  bool all_block() const { return agreed_.blocking; }

  /// Returns what has gone wrong, once a call cannot end any more because of it; ok while nothing is missing. A rank
  /// that is gone and that no call waits for is no error. What waits goes on waiting, until abort().
  Status check();
  /// Ends what waits here. Others hear of it, by check().
  void abort();
  /// To be told when the program has done with the communicator and all work of this rank is: from now on others do
  /// not take it for dead when its process ends.
  void mark_finalized();
  /// Returns true if nothing of this rank is under way; after an error of the device nothing is.
  bool is_idle();
  /// Waits for the work of this rank. Errors: those of check(), and what the work failed with.
  Status flush();
  /// Returns true if another rank is of this process.
  bool has_siblings() const { return agreed_.siblings; }
  /// Returns true if there are graphs with calls of this communicator, which may run any time.
  bool has_graphs() const { return collectives().has_graphs(); }
  /// Returns true if this object may go, once the program has done with it: no rank will touch another one's memory
  /// any more, nor has it mapped. To be asked again until it is so; never blocks.
  bool can_release();

 private:
  class Stages;

  Communicator() = default;
  node::Node& node() const { return inner_->node(); }
  coll::Collectives& collectives() const { return inner_->collectives(); }
  /// Collective: makes the node and what is on it. Returns why no call would be sennit's; empty where some may be.
  Result<std::string> build(std::unique_ptr<comm::Exchange> exchange, Stages& stages);
  Status enqueue(const Call& call, device::Lane& lane);
  /// Errors: aborted, once this rank's program has ended the communicator.
  Status is_open() const;
  /// Says once, on one rank, that the ranks' calls do not match. Errors: peer_lost where what waits here waits for a
  /// rank that has ended the communicator before.
  Status check_calls_match();

  CommPlace place_;
  Agreed agreed_;
  Switches switches_;
  std::shared_ptr<device::Executor> executor_;
  std::optional<plan::Communicator> inner_;
  device::Memory own_message_;
  std::unique_ptr<StreamOrder> order_;
  std::unique_ptr<Decider> decider_;
  std::unique_ptr<SymmetricWindows> windows_;
  /// Seconds of the steady clock when the group failed; the group's thread writes it.
  std::shared_ptr<std::atomic<double>> failed_ = std::make_shared<std::atomic<double>>(0);
  std::atomic<std::uint64_t>* counts_ = nullptr;  // CallCounts, in the control segment of the node's group
  std::atomic<bool> is_aborted_{false};           // by this rank's program
};

}  // namespace sennit::shim::nccl
