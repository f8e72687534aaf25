// Moves two-sided messages between GPUs of a node by one copy, straight from the sender's memory to the receiver's,
// instead of three through host memory.
//
// 1. The sender sends an RTS in the message's place, with the same envelope: where the bytes are, and a slot of
//    shared memory. So the program's library matches messages, in its own order, with every wildcard.
// 2. The receiver, into GPU or host memory, knows it by a number that the job drew at its start, and selects a
//    protocol (select.h).
// 3. rndv_put: into GPU memory the receiver posts an RTR (rtr.h), which asks the sender to copy there. A sender that
//    waits finds it at once, and its GPU signals completion in the slot, behind the bytes (copy_scheduler.h).
// 4. rndv_get: into host memory, and where the sender does not respond, the receiver maps the sender's memory (once),
//    copies the bytes itself, and then signals completion. Until then the sender's buffer is in use; a receiver may
//    find that the slot is already at a later message.
// 5. host_bounce: a receiver that cannot map the memory asks, by the slot, for a copy in host memory, and gets a file
//    of it.
// 6. kernel_get: a short message that is the only one on its way to a receiver whose GPU has a block for small copies
//    is fetched by that block: no launch, and the sender need not respond.
// 7. rndv_buffered: a sender that has waited for the receiver of a short message a while makes a copy in host memory
//    as in 5., and waits no more: programs rely on their libraries to keep short messages, as when both of two ranks
//    send before they receive.
//
// Every receive that could be matched by an RTS must be looked at when it completes, also those into host memory. An
// RTS is no longer than any message that it may stand for, so a receive that is too short for it is too short for the
// message, and the library itself says so. Its length tells a group of slots: a rank that probes for a message sees
// only a length, and looks up there how long the message is (rts_slots.h, rts_tracker.h). A message of the program's
// own may be as long: see announced() and look_alikes.h.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "comm/group.h"
#include "msg/copy_scheduler.h"
#include "msg/ipc_cache.h"
#include "msg/look_alikes.h"
#include "msg/rtr.h"
#include "msg/rts.h"
#include "msg/rts_slots.h"
#include "msg/rts_tracker.h"
#include "msg/transfer.h"
#include "stage/copy_queue.h"
#include "stage/gpus.h"

namespace sennit::msg {

class Messages {
 public:
  static constexpr std::string_view kPlan = "direct copy";
  /// A sender that waits leaves a copy of a short message after this time: a default, far longer than a receiver
  /// takes that is there.
  static constexpr std::chrono::milliseconds kWaits{1};

  /// `job`: drawn at random, the same on all ranks. `group`: of the ranks that messages go between. `look_alikes`: of
  /// all this process sends. `make_executor`: see CopyScheduler.
  Messages(comm::Group& group, std::array<std::uint64_t, 2> job, stage::Gpus& gpus, IpcCache& ipc_cache,
           LookAlikes& look_alikes, CopyScheduler::MakeExecutor make_executor);

  /// A message on its way. Its slot is free again with it.
  class SendTransfer final : public msg::SendTransfer {
   public:
    ~SendTransfer() override;
    const Rts& rts() const { return rts_; }
    const void* sent() const override { return sent_; }
    int length() const override { return rts_.length(); }
    std::uint64_t bytes() const override { return rts_.bytes; }
    std::string_view plan() const override { return kPlan; }
    std::string how() const override;
    /// Moves the message on, and makes a copy in host memory where the receiver needs one. Errors: those of that
    /// copy.
    Result<bool> test() override;
    void is_waited_for() override;
    bool is_buffered() const override { return buffered_; }
    int peer() const override { return to_.dest; }
    bool has_rtr() const override { return messages_.rtr_of(rts_).is_posted(rts_.number); }
    bool is_claimed() const override { return messages_.rtr_of(rts_).is_claimed(rts_.number); }

   private:
    friend class Messages;
    explicit SendTransfer(Messages& messages) : messages_(messages) {}
    bool has_completed() const { return messages_.has_completed(rts_); }
    /// Offers a copy in host memory.
    Status copy_to_file();
    /// Leaves such a copy for the receiver.
    void leave_copy();
    /// Begins the copy that an RTR asks for, if there is one.
    void accept_rtr();
    /// Returns ok while completion of what is in flight may still be signalled.
    Status check_in_flight() const;
    Messages& messages_;
    Rts rts_{};
    const std::byte* sent_ = nullptr;
    const void* data_ = nullptr;
    int device_ = -1;  // that holds it
    Envelope to_;
    std::uint64_t time_ = 0;            // of LookAlikes
    CopyScheduler::Copying in_flight_;  // none: it is not this process that copies
    std::uint64_t offered_ = 0;         // a copy in host memory; 0: none
    std::optional<std::chrono::steady_clock::time_point> waited_since_;
    unsigned looks_ = 0;  // of who waits
    bool buffered_ = false;
    bool keeps_none_ = false;  // no copy of it is left, now or any more
  };

  /// Exports the memory for a receiver; null where it cannot be shared, or no slot is left whose RTS is as short as
  /// the message, and like no other message to that receiver. `sync_memops`: of the memory. `synchronous`: the send
  /// is not over before its receiver has come, and so never buffered.
  std::unique_ptr<SendTransfer> announce(const void* data, std::uint64_t bytes, const Envelope& to, bool sync_memops,
                                         bool synchronous = false);

  /// Returns whether what was received is an RTS.
  bool is_rts(const void* data, std::uint64_t bytes) const {
    if (bytes < kLeastLookedAt || bytes > kLongestRts) return false;
    std::uint64_t first[2];
    std::memcpy(first, data, sizeof first);
    return first[0] == job_[0] && first[1] == job_[1];
  }

  /// Returns how long a message is that a probe found, of `bytes` bytes there; no value where it is the program's
  /// own. `members`: as Envelope. `taken`: a matched probe took it from the library, and the next one finds another.
  /// To be asked when nothing of that context, sender and tag is received that has not been looked at. Then the
  /// answer is wrong in one case: the program's own message, of that very length, was sent behind the RTS with the
  /// same tag, and in another context of the same ranks in the same order.
  std::optional<std::uint64_t> announced(int sender, int tag, std::uint64_t members, std::uint64_t bytes, bool taken);

  /// A message that is being fetched.
  class RecvTransfer final : public msg::RecvTransfer {
   public:
    Protocol protocol() const { return protocol_; }
    std::uint64_t bytes() const override { return rts_.bytes; }
    std::string_view plan() const override { return kPlan; }
    std::string how() const override;
    int peer() const override { return rts_.sender; }
    /// The sender is told when it has come. Errors: those of the copy.
    Result<bool> test() override;

   private:
    friend class Messages;
    RecvTransfer(Messages& messages, const Rts& rts, void* to, int device)
        : messages_(messages), rts_(rts), to_(to), device_(device) {}
    Messages& messages_;
    const Rts rts_;
    void* const to_;
    const int device_;
    Status fetch_file();
    /// Returns whether a copy to host memory, or from there, is over.
    Result<bool> copied();
    /// Returns, of a put, whether the message has come, or the sender may still accept the RTR.
    Result<bool> accepted();
    Protocol protocol_ = Protocol::rndv_get;
    /// The time until which the sender may accept the RTR: from the first look on, since a sender that finds many
    /// messages looks at all of them before it accepts any, and anew while the sender goes on to accept others. Some
    /// messages that are got while others are put both ways take half as long again (2 × H200).
    std::optional<std::chrono::steady_clock::time_point> until_;
    std::uint64_t alive_ = 0, passes_at_first_ = 0;  // of the sender
    CopyScheduler::Copying in_flight_;               // of a get into GPU memory
    std::shared_ptr<const path::Mapping> mapping_;   // of a get into host memory,
    stage::CopyQueue* queue_ = nullptr;              // where it is copy number
    std::uint64_t copy_ = 0;
    bool completed_ = false;
    Status failed_;
  };

  /// Begins to bring the message to memory of a GPU, or of the host (`device`: -1). `matched`: its RTS was received
  /// by a matched probe. `at_once`: the receiver waits, for this message alone, and its memory has sync_memops.
  std::unique_ptr<RecvTransfer> fetch(const Rts& rts, bool matched, void* to, int device, bool at_once = false);
  /// This rank begins a progress pass over all that it has sent: receivers wait longer for their RTRs to be accepted.
  void begin_pass();
  /// Says that the message is not wanted: it is longer than its receive allows.
  void refuse(const Rts& rts, bool matched);

 private:
  /// Holds what is known of a buffered message, which outlives its SendTransfer, in SendTransfer's terms.
  struct Buffered {
    Rts rts;
    Envelope to;
    std::uint64_t time, offered;
  };
  /// A sender that did not accept an RTR in time, or rejected it.
  struct Unresponsive {
    int times = 0;             // in turn, of long messages
    int left = 0;              // its messages that are copied here before it is asked again
    std::uint64_t passes = 0;  // that it had begun
  };
  /// Holds what a probe learns of an RTS, beside its sender.
  struct Likeness {
    std::uint64_t step, dest_and_tag, members;
  };
  static device::Word& end_word(comm::Slot& slot) {
    return reinterpret_cast<device::Word&>(slot.words[RtsWords::kEnd]);
  }
  /// Calls visit(message, bytes) for those of `sender`'s that are on their way and look so, until it returns true.
  template <class Visit>
  void visit_alike(int sender, const Likeness& likeness, const Visit& visit) const;
  /// Notes that an RTS was received; with the mutex held.
  void note_received(const Rts& rts, bool matched);
  void signal_completion(const Rts& rts) const;
  bool has_completed(const Rts& rts) const;
  /// Forgets a message that is over; with the mutex held.
  void forget(const Buffered& one);
  /// Forgets buffered messages whose receivers have them now; with the mutex held.
  void sweep();
  comm::Slot& slot_of(int sender, int slot) const;
  comm::Slot& slot_of(const Rts& rts) const { return slot_of(rts.sender, rts.slot); }
  comm::ProgressSlot& progress_of(int rank) const { return group_.slots(rank).progress; }
  Rtr rtr_of(const Rts& rts) const { return Rtr(group_.slots(rts.sender).rtr[static_cast<std::size_t>(rts.slot)]); }

  // The receiver's part of each protocol:
  std::unique_ptr<RecvTransfer> kernel_get(const Rts& rts, bool matched, void* to, int device);
  /// Returns whether an RTR is posted.
  bool post_rtr(RecvTransfer& message);
  /// Returns whether the sender would not accept it, as far as is known; with the mutex held.
  bool is_unresponsive(const Rts& rts);
  /// Begins to copy from the sender's memory, or asks for a file.
  void get(RecvTransfer& message);
  Status begin_get(RecvTransfer& message);

  comm::Group& group_;
  const std::array<std::uint64_t, 2> job_;
  stage::Gpus& gpus_;
  IpcCache& ipc_cache_;
  LookAlikes& look_alikes_;
  std::mutex mutex_;
  RtsSlots slots_;
  std::array<device::Word, Rts::kSlots> uses_{};
  std::array<std::vector<std::byte>, Rts::kSlots> sent_;  // of each slot that was ever in use
  std::uint64_t numbers_ = 0;
  std::vector<Buffered> buffered_;      // whose sends are over, and whose receivers have not come
  std::map<int, RtsTracker> trackers_;  // by sender
  bool warned_ = false;
  std::map<int, std::unique_ptr<stage::CopyQueue>> queues_;  // by device
  std::map<int, Unresponsive> unresponsive_;                 // by sender
  CopyScheduler copies_;
};

}  // namespace sennit::msg
