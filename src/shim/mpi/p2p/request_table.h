// Keeps the requests of the program that stand for more than the real library knows: what is to be done before one
// may complete, and when it does. The program holds the real library's own handle, so every function takes it.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "msg/transfer.h"
#include "shim/mpi/abi/handle.h"
#include "shim/mpi/comm/pending_call.h"
#include "shim/mpi/staging/partitions.h"
#include "shim/mpi/staging/staged_buffers.h"

namespace sennit::shim::mpi {

/// A receive that an RTS may match: where the real function puts what comes, and where the message belongs.
struct Receive {
  Function function;   ///< whose receive it is
  std::string detail;  ///< of its staging, where somebody wants it explained: StagedBuffers::how()
  void* landed = nullptr;
  void* buffer = nullptr;
  stage::MemInfo held;                ///< whose memory that is
  std::int64_t capacity = 0;          ///< bytes of data
  std::optional<int> source;          ///< from whom MPI looks for what matches; none: it has been matched before
  int tag = 0;                        ///< with which tag
  Handle type = kNoHandle;            ///< kNoHandle: data without gaps
  std::shared_ptr<void> type_keeper;  ///< the program may free its own while the receive is open
  std::atomic<bool> looked{false};    ///< what came has been looked at
  std::unique_ptr<msg::RecvTransfer> incoming;  ///< null: it was no RTS
  device::Memory packed;                        ///< of a type with gaps
  bool goes_on = false;                         ///< it belongs where `staged` brings it: to several allocations
  int error = 0;                                ///< MPI's code
};

/// A communicator that requests were made in, which they may outlive: kNoHandle once the program has freed it, since
/// the handle may then be another one's.
using CommOfRequests = std::atomic<Handle>;

struct OpenRequest {
  std::shared_ptr<const CommOfRequests> made_in;  ///< null: in none
  std::shared_ptr<StagedBuffers> staged;          ///< null: no memory of a GPU
  std::shared_ptr<void> kept;                     ///< what the real function still looks at
  bool persistent = false;
  bool receives = false;                   ///< its status says how much came
  bool message = false;                    ///< from one rank to another
  Function function;                       ///< of a send
  std::atomic<bool> active{true};          ///< persistent ones: between start and completion
  std::unique_ptr<Partitions> partitions;  ///< of one that goes in parts; null: not so
  std::unique_ptr<const Call> sends;       ///< a persistent send whose starts may be announced; null: not so
  bool brought = false;                    ///< what came is where it belongs already
  std::atomic<int> watchers{0};            ///< waits that look at it again and again themselves

  std::mutex mutex;      // of what follows
  bool claimed = false;  ///< the real function is starting it or may end it: no other call looks at it
  std::unique_ptr<msg::SendTransfer> outgoing;
  Status lost;  // why the receiver cannot have it
  std::unique_ptr<Receive> receive;
  std::shared_ptr<PendingCall> pending;             ///< a collective call, for which the request is a placeholder,
  std::unique_ptr<PersistentCall> persistent_call;  ///< a persistent one, of which `pending` is the latest start
  std::shared_ptr<OpenRequest> sent;                ///< of such a start that is announced: a send of its own,
  Handle rts_request = kNoHandle;                   ///< whose request this is
  bool gone = false;                   ///< a persistent one that the real library has freed, since it failed
  bool told = false;                   ///< whose end the real library has been told
  bool let_go = false;                 ///< a send that is over though the real library's is not
  std::array<std::byte, 32> status{};  ///< of a persistent one that is finished
  /// Says that the request has ended, until the real library's has, too; also set for a persistent one that the real
  /// library has completed already. A reader holds the mutex, or gets a value that may be a moment old.
  std::atomic<bool> finished{false};

  /// Returns the communicator whose error handler hears what goes wrong: kNoHandle where the program has freed it, or
  /// there was none.
  Handle comm() const { return made_in != nullptr ? made_in->load(std::memory_order_acquire) : kNoHandle; }

  /// Returns whether the request needs a look from time to time, whatever the program waits for.
  bool moves() const {
    // Another start of a persistent collective may be on its way: `pending` is not looked at without the mutex.
    return active && (outgoing != nullptr || receive != nullptr || persistent_call != nullptr || pending != nullptr);
  }
};

class RequestTable {
 public:
  using Shared = std::shared_ptr<OpenRequest>;
  using Claimed = std::unordered_map<Handle, Shared>::node_type;

  /// Takes one load: true in programs whose requests are all the host's.
  bool none() const { return count_.load(std::memory_order_relaxed) == 0; }
  /// Returns whether any request moves.
  bool busy() const { return moving_.load(std::memory_order_relaxed) > 0; }

  /// MPIs have one handle for all requests that have ended at once, such as receives from MPI_PROC_NULL and short
  /// sends: nothing is left to do for those, and the latest is as good as any. `comm`: where it was made, or
  /// kNoHandle.
  void add(Handle request, Shared open, Handle comm = kNoHandle) {
    if (open->moves()) ++moving_;
    Shared other;
    {
      const std::unique_lock lock(mutex_);
      if (comm != kNoHandle) {
        auto& made_in = comms_[comm];
        if (made_in == nullptr) made_in = std::make_shared<CommOfRequests>(comm);
        open->made_in = made_in;
      }
      if (open->receive != nullptr && !open->persistent) {
        if (pending_receives_.size() > 2 * all_.size() + kVainLooks) std::erase_if(pending_receives_, is_not_awaited);
        const bool is_long = open->receive->capacity > static_cast<std::int64_t>(msg::kMostTogether);
        pending_receives_.push_back({request, open, 0, is_long ? kVainLooksAtLong : kVainLooks});
      }
      if (open->outgoing != nullptr && !open->persistent) {
        if (pending_sends_.size() > 2 * all_.size() + kVainLooks) std::erase_if(pending_sends_, is_over);
        pending_sends_.push_back({request, open});
      }
      other = std::exchange(all_[request], std::move(open));
      recount();
    }
    if (other != nullptr) end(*other);
  }
  /// Forgets a communicator before the program's is freed: requests that were made in it may go on, without its
  /// handle.
  void forget_comm(Handle comm) {
    const std::unique_lock lock(mutex_);
    const auto found = comms_.find(comm);
    if (found == comms_.end()) return;
    found->second->store(kNoHandle, std::memory_order_release);
    comms_.erase(found);
  }
  /// Returns what is known of a request; null: it is not one of these.
  Shared find(Handle request) const {
    const std::shared_lock lock(mutex_);
    const auto found = all_.find(request);
    return found != all_.end() ? found->second : nullptr;
  }
  /// Notes that a persistent request is about to be started. A look at it before started() would find that it has
  /// ended.
  void start(OpenRequest& open) {
    const std::lock_guard lock(open.mutex);
    open.claimed = true;
    open.active = true;
    open.finished = false;
    open.brought = false;
    if (open.receive != nullptr) {
      open.receive->looked = false;
      open.receive->incoming.reset();
      open.receive->error = 0;
    }
    if (open.moves()) ++moving_;
  }
  /// A persistent send is started by another one, which has been added as `rts_request`.
  void start(OpenRequest& open, Shared sent, Handle rts_request) {
    const std::lock_guard lock(open.mutex);
    open.sent = std::move(sent);
    open.rts_request = rts_request;
    open.active = true;
    open.finished = false;
  }
  void started(OpenRequest& open) {
    const std::lock_guard lock(open.mutex);
    open.claimed = false;
  }
  /// Claims a request before the real function may end it: with that its handle is free, and another thread's new
  /// request may have it before this one can tell. No thread finds it or looks at it until put_back(). Empty: it is
  /// one of several with this handle.
  Claimed claim(Handle request, OpenRequest& open) {
    {
      const std::lock_guard lock(open.mutex);
      open.claimed = true;
    }
    const std::unique_lock lock(mutex_);
    Claimed taken = all_.extract(request);
    recount();
    return taken;
  }
  /// It has not ended, or is persistent.
  void put_back(Claimed claimed) {
    {
      const std::lock_guard lock(claimed.mapped()->mutex);
      claimed.mapped()->claimed = false;
    }
    Claimed other;
    {
      const std::unique_lock lock(mutex_);
      other = std::move(all_.insert(std::move(claimed)).node);
      recount();
    }
    if (!other.empty()) end(*other.mapped());
  }
  /// The real library has given a persistent one another handle.
  void rename(Handle from, Handle to) {
    const std::unique_lock lock(mutex_);
    if (auto one = all_.extract(from); !one.empty()) {
      one.key() = to;
      all_.insert(std::move(one));
    }
    recount();
  }
  /// It has completed.
  void end(OpenRequest& open) {
    const std::lock_guard lock(open.mutex);
    if (open.moves()) --moving_;
    open.active = false;
  }
  void remove(Handle request) {
    const std::unique_lock lock(mutex_);
    all_.erase(request);
    recount();
  }
  /// The program has freed this one, a message that is active: it is not found any more, and it moves until it is
  /// forgotten.
  void orphan(Handle request, const Shared& open) {
    ++moving_;
    const std::unique_lock lock(mutex_);
    all_.erase(request);
    orphans_.emplace_back(request, open);
    recount();
  }
  std::vector<std::pair<Handle, Shared>> orphans() const {
    const std::shared_lock lock(mutex_);
    return orphans_;
  }
  bool any_orphans() const { return orphan_count_.load(std::memory_order_relaxed) != 0; }
  /// One of left() has completed.
  void forget(const Shared& open) {
    const std::unique_lock lock(mutex_);
    moving_ -= static_cast<int>(std::erase_if(orphans_, [&](const auto& each) { return each.second == open; }));
    recount();
  }
  /// Returns the receive posted first among those whose message has not been seen: what comes next is most likely for
  /// that. Receives that were asked for kVainLooks times are left out. Null where there is no such receive, or only
  /// one: then nothing is lost by a look when it is waited for, and a short message may then be brought at once.
  std::pair<Handle, Shared> first_pending_receive() {
    const std::unique_lock lock(mutex_);
    drop_what_is_not_awaited();
    while (pending_receives_.size() > 1 && is_not_awaited(pending_receives_[1]))
      pending_receives_.erase(pending_receives_.begin() + 1);
    if (pending_receives_.size() < 2) return {};
    ++pending_receives_.front().looks;
    return {pending_receives_.front().request, pending_receives_.front().open.lock()};
  }
  /// Returns whether there is a receive for first_pending_receive(), were it the only one.
  bool any_pending_receive() {
    const std::unique_lock lock(mutex_);
    drop_what_is_not_awaited();
    return !pending_receives_.empty();
  }
  /// Returns the oldest sends not yet returned, at least `least` of them or `least_bytes` bytes, if the receiver of
  /// the last one has posted its RTR. Skips up to kMostLeftOut at the front whose receivers have not: these may be
  /// long in coming, as where they look at another message first. Empty if there is no such batch.
  std::vector<std::pair<Handle, Shared>> with_rtr(std::size_t least, std::uint64_t least_bytes) {
    const std::unique_lock lock(mutex_);
    while (!pending_sends_.empty() && is_heard(pending_sends_.front())) pending_sends_.pop_front();
    for (std::size_t first = 0; first < std::min(kMostLeftOut + 1, pending_sends_.size()); ++first) {
      std::vector<std::pair<Handle, Shared>> some;
      std::uint64_t bytes = 0;
      auto one = pending_sends_.begin() + static_cast<std::ptrdiff_t>(first);
      const auto begin = one;
      for (; one != pending_sends_.end() && some.size() < least && bytes < least_bytes; ++one) {
        const auto open = one->open.lock();
        if (open == nullptr || is_claimed(*open)) continue;
        bytes += open->outgoing->bytes();
        some.emplace_back(one->request, open);
      }
      if (some.size() < least && bytes < least_bytes) return {};
      if (some.back().second->outgoing->has_rtr()) {
        pending_sends_.erase(begin, one);
        return some;
      }
      if (!is_long(*some.front().second)) return {};
    }
    return {};
  }
  /// Returns the requests that move, and that no wait looks at anyway.
  std::vector<std::pair<Handle, Shared>> moving() const {
    std::vector<std::pair<Handle, Shared>> some;
    const std::shared_lock lock(mutex_);
    for (const auto& [request, open] : all_)
      if (open->moves() && open->watchers.load(std::memory_order_relaxed) == 0) some.emplace_back(request, open);
    for (const auto& [request, open] : orphans_)
      if (open->moves()) some.emplace_back(request, open);
    return some;
  }

  /// Returns whether `wants` holds for one of the communicator's receives whose message has not been looked at.
  template <class Wants>
  bool any_unseen(Handle comm, const Wants& wants) const {
    const std::shared_lock lock(mutex_);
    const auto is_wanted = [&](const auto& each) {
      const OpenRequest& open = *each.second;
      return open.active && open.receive != nullptr && !open.receive->looked && open.comm() == comm &&
             wants(*open.receive);
    };
    return std::ranges::any_of(all_, is_wanted) || std::ranges::any_of(orphans_, is_wanted);
  }

 private:
  struct Awaited {
    Handle request;
    std::weak_ptr<OpenRequest> open;
    int looks = 0, most = kVainLooks;
  };
  /// Defaults: a receive may wait for ever, as for a word to stop. For a long one far more than a program posts at
  /// once, since each that is posted has the first one looked at, and who forgets that one leaves its sender waiting.
  static constexpr int kVainLooks = 64, kVainLooksAtLong = 512;
  static constexpr std::size_t kMostLeftOut = 4;  ///< a default: a look at each takes some ns
  static bool is_over(const Awaited& one) {
    const auto open = one.open.lock();
    return open == nullptr || !open->active;
  }
  static bool is_long(const OpenRequest& send) { return send.outgoing->bytes() > msg::kMostTogether; }
  static bool is_claimed(const OpenRequest& send) { return is_long(send) && send.outgoing->is_claimed(); }
  /// Returns whether the receiver of a send has been heard from, or need not be.
  static bool is_heard(const Awaited& one) {
    const auto open = one.open.lock();
    return open == nullptr || !open->active || is_claimed(*open);
  }
  static bool is_not_awaited(const Awaited& one) {
    const auto open = one.open.lock();
    return open == nullptr || !open->active || open->receive->looked.load(std::memory_order_relaxed);
  }

  /// Counts again what none() answers by, with the mutex held.
  void recount() {
    count_.store(all_.size() + orphans_.size(), std::memory_order_relaxed);
    orphan_count_.store(orphans_.size(), std::memory_order_relaxed);
  }
  /// Drops receives from the front that are not awaited, with the mutex held.
  void drop_what_is_not_awaited() {
    while (!pending_receives_.empty() && (is_not_awaited(pending_receives_.front()) ||
                                          pending_receives_.front().looks == pending_receives_.front().most))
      pending_receives_.pop_front();
  }

  mutable std::shared_mutex mutex_;
  std::unordered_map<Handle, Shared> all_;
  std::unordered_map<Handle, std::shared_ptr<CommOfRequests>> comms_;  // that have not been freed
  std::deque<Awaited> pending_receives_;                               // receives, as they were posted
  std::deque<Awaited> pending_sends_;                                  // sends, as they were begun
  std::vector<std::pair<Handle, Shared>> orphans_;                     // that the program has freed
  std::atomic<std::size_t> count_{0}, orphan_count_{0};
  std::atomic<int> moving_{0};
};

}  // namespace sennit::shim::mpi
