// Collectives makes the collective calls of a communicator: it checks a call, sees to its order among the streams,
// and starts the chosen plan.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>

#include "coll/algorithms.h"
#include "coll/allreduce_copy_engines.h"
#include "coll/call_order.h"
#include "coll/choice.h"
#include "coll/message.h"
#include "coll/scratch.h"
#include "coll/windows.h"
#include "device/mapped.h"
#include "node/node.h"

namespace sennit::coll {

/// A collective in its caller's words. Every rank gives the same operation, count, reduction and root.
struct Request {
  Operation operation = Operation::allreduce;
  const void* input = nullptr;
  void* output = nullptr;
  /// Elements of the message; where messages of several ranks lie side by side, of each.
  std::uint64_t count = 0;
  device::Reduction reduction;  ///< its type alone where nothing is reduced; `ranks` is filled in
  int root = kEveryRank;        ///< of operations that have one

  /// All-to-all-v instead of `count`, for every rank: elements sent to it and where they begin in the input, elements
  /// received from it and where they go in the output.
  std::span<const std::uint64_t> sent, sent_from, received, received_to;
};

class Collectives {
 public:
  /// `node` outlives it. `chooser`: who decides on plans; by default the cost model alone.
  explicit Collectives(node::Node& node, std::unique_ptr<Chooser> chooser = std::make_unique<ModelChooser>())
      : node_(node), chooser_(std::move(chooser)), order_(node.executor()) {}

  /// Enqueues the collective in the order of `lane`. Every rank makes the same calls in the same order, on whatever
  /// lanes; they then run in this order. The first call of a communicator meets all ranks to make scratch memory;
  /// later ones wait for no rank. `forced`: this plan instead of the chosen one; the same on every rank. Errors:
  /// invalid_argument (null, freed, pageable or overlapping memory, too short, a type without this operator, no such
  /// root), those of Scratch::create on the first call, peer_lost, aborted.
  Status call(const Request& request, device::Lane& lane, const Plan* forced = nullptr);

  /// Leaves the last kBlocksForMessages to messages; every plan must do with the others. To be called on every rank,
  /// before the first call. `most`: one message has at most so many, whatever is planned; the same on every rank, at
  /// least 1.
  void keep_blocks_for_messages(unsigned most = kBlocksForMessages) {
    blocks_ = {kBlocksBesideMessages, kBlocksForMessages, false};
    most_of_a_message_ = std::min(most, kBlocksForMessages);
  }
  bool keeps_blocks_for_messages() const { return !blocks_.shared; }
  /// Enqueues messages, all at the same time, after meet() and in a communicator that keeps blocks for them: in the
  /// order of `lane` and behind the calls so far; between two ranks they are in the order in which both have them,
  /// whatever calls they are in. Their blocks and threads are chosen here, by their bytes alone. Errors:
  /// invalid_argument (null, freed, pageable or too short memory, but where there are no bytes; no such peer; as
  /// coll::send_receive), peer_lost, aborted: see node::Node::admits().
  Status send_receive(std::span<const Message> messages, device::Lane& lane);

  /// Collective. Does ahead what the first call would do, after which calls wait for no rank on the host. Errors:
  /// those of Scratch::create.
  Status meet();

  /// Returns the plan that call() would take. After the first call.
  Plan plan(const CallKey& which);

  /// Returns whether the call can go straight between the ranks' buffers, where that is faster: see Windows::reach.
  bool reaches(const Call& call);

  /// Collective. From now on calls whose buffers lie in `window`, at the same offsets on every rank, may use those of
  /// all ranks straight. Errors: those of Windows::look_at.
  Status use(const std::shared_ptr<path::Window>& window);
  /// Returns whether use() accepted the window; equal on every rank.
  bool uses(const path::Window& window);
  /// Forgets a window, before it is closed.
  void forget(const path::Window& window);
  /// Forgets all windows, on every rank.
  void forget_windows();

  /// Explains a wait that passed its limit: names the ranks that have not made the latest call, and ends the
  /// communicator, so that all ranks learn of it. Returns other results unchanged.
  Status explain(Status status);

  /// Lets `lane` wait for the calls so far, where the latest was on another stream; of those that a capture recorded,
  /// where the lane is part of it; of those that graphs replay, always. Nothing is asked of that stream: it may be
  /// gone.
  Status follow(device::Lane& lane);

  /// Returns how many calls this rank has made that the other ranks must make too, without captured ones. From any
  /// thread.
  std::uint64_t calls() const { return noted_.load(std::memory_order_relaxed).sequence; }

  /// Returns whether all calls are done, also those of the replays that were enqueued. Never blocks.
  Result<bool> idle();

  /// Returns whether there are graphs with calls in them, which may be replayed any time.
  bool has_graphs() const { return order_.has_graphs(); }

  /// Collective, and harmless where no collective was called: for when all calls are done.
  Status close();
  /// Unmaps what collectives have mapped, instead of close(), where ranks do not end together: see Scratch::unmap.
  void unmap();

  /// Null before the first call.
  const Scratch* scratch() const { return scratch_.get(); }

 private:
  Status prepare();
  Status check(const Request& request) const;
  /// Reads all-to-all-v's arrays.
  Result<Exchange> messages_of(const Request& request) const;
  Status check_buffers(const Request& request, std::uint64_t bytes) const;
  /// `what`: its name in errors.
  Status check_buffer(const void* data, std::uint64_t bytes, device::Access access, std::string_view what) const;
  Status check_memory(const void* data, std::uint64_t bytes, device::Access access) const;
  /// Notes a call, for other ranks to see that this one has made it. Not a captured one: how often it is replayed is
  /// not known.
  void note(const Call& call);

  node::Node& node_;
  std::unique_ptr<Chooser> chooser_;
  std::mutex mutex_;  // held while a call is enqueued: threads' calls do not mix
  std::unique_ptr<Scratch> scratch_;
  MessageBlocks blocks_;
  unsigned most_of_a_message_ = kMostBlocks;
  Windows windows_;
  std::unique_ptr<CopyEngines> engines_;  // made when first planned
  CallOrder order_;

  /// The latest call, as other ranks see it too. Read without the mutex, so in one piece.
  struct alignas(8) Noted {
    Operation operation;
    std::uint64_t sequence : 56;
  };
  static_assert(std::atomic<Noted>::is_always_lock_free);
  std::atomic<Noted> noted_{};
};

}  // namespace sennit::coll
