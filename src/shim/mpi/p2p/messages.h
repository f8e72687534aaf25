// Point-to-point messages between GPUs of a node: one copy, straight from the sender's memory to the receiver's,
// instead of three through host memory.
//
// 1. The sender sends an RTS in the message's place, with the same envelope: where the bytes are, and a slot
//    of shared memory. So MPI itself matches messages, in its own order, with every wildcard.
// 2. Whoever receives it, into GPU or host memory, knows it by a number that the job drew at its start.
// 3. Into GPU memory: it lends that to the sender, and asks it to copy (rtr.h). A sender that waits hears it
//    at once, and its GPU tells of the end in the slot, behind the bytes (copy_scheduler.h).
// 4. Into host memory, and where the sender does not hear: it maps the sender's memory (once), copies the bytes
//    itself, and then tells of the end. Until then the sender's buffer is in use; a receiver may find that the slot
//    is already at a later message.
// 5. A receiver that cannot map the memory asks, by the slot, for a copy in host memory, and gets a file of it.
// 6. A short message that is the only one on its way to a receiver whose GPU has a block for small copies is
//    brought by that: no launch, and nobody has to hear.
// 7. A sender that has waited for the receiver of a short message a while makes a copy in host memory as in 5., and
//    waits no more: programs rely on MPIs to keep short messages, as when both of two ranks send before they receive.
//
// Every receive that could be matched by an RTS must be looked at when it completes, also those into host
// memory. An RTS is no longer than any message that it may stand for, so a receive that is too short for it
// is too short for the message, and MPI itself says so. Its length tells a group of slots: who probes for a message
// sees a length alone, and looks up there how long the message is (rts_slots.h, rts_tracker.h). A message of the
// program's own may be as long: see announced() and look_alikes.h.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/group.h"
#include "shim/mpi/call/call.h"
#include "shim/mpi/p2p/copy_scheduler.h"
#include "shim/mpi/p2p/ipc_cache.h"
#include "shim/mpi/p2p/look_alikes.h"
#include "shim/mpi/p2p/rtr.h"
#include "shim/mpi/p2p/rts.h"
#include "shim/mpi/p2p/rts_slots.h"
#include "shim/mpi/p2p/rts_tracker.h"
#include "shim/mpi/p2p/transfer.h"
#include "stage/copy_queue.h"
#include "stage/gpus.h"

namespace sennit::shim::mpi {

class Messages {
 public:
  static constexpr std::string_view kPlan = "direct copy";

  /// `job`: drawn at random, the same on all ranks. `group`: of MPI_COMM_WORLD.
  /// `look_alikes`: of all this process sends. `make_executor`: see Pushes.
  Messages(comm::Group& group, std::array<std::uint64_t, 2> job, stage::Gpus& gpus, IpcCache& ipc_cache,
           LookAlikes& look_alikes, CopyScheduler::MakeExecutor make_executor);

  /// A message on its way. Its slot is free again with it.
  class SendTransfer final : public mpi::SendTransfer {
   public:
    ~SendTransfer() override;
    const Rts& rts() const { return rts_; }
    const void* sent() const override { return sent_; }
    int length() const override { return rts_.length(); }
    std::uint64_t bytes() const override { return rts_.bytes; }
    std::string_view plan() const override { return kPlan; }
    std::string how() const override;
    /// Where the receiver needs a copy in host memory, this makes it. Errors: those of that copy.
    Result<bool> test() override;
    void is_waited_for() override;
    bool is_buffered() const override { return left_; }
    int peer() const override { return to_.dest; }
    bool has_rtr() const override { return messages_.rtr_of(rts_).is_posted(rts_.number); }
    bool is_claimed() const override { return messages_.rtr_of(rts_).is_claimed(rts_.number); }

   private:
    friend class Messages;
    explicit SendTransfer(Messages& messages) : messages_(messages) {}
    bool ended() const;
    /// Offers a copy in host memory.
    Status copy_to_file();
    void leave();
    /// Begins the copy that the receiver wishes, if it does.
    void accept_rtr();
    /// Whether the end of what is under way may still be told.
    Status look() const;
    Messages& messages_;
    Rts rts_{};
    const std::byte* sent_ = nullptr;
    const void* data_ = nullptr;
    int device_ = -1;  // that holds it
    Envelope to_;
    std::uint64_t time_ = 0;             // of LookAlikes
    CopyScheduler::UnderWay under_way_;  // none: it is not this process that copies
    std::uint64_t offered_ = 0;          // a copy in host memory; 0: none
    std::optional<std::chrono::steady_clock::time_point> waited_since_;
    unsigned looks_ = 0;  // of who waits
    bool left_ = false;
    bool stays_ = false;  // it is not left, now or any more
  };
  /// Messages of which a sender leaves a copy: a default, the longest that MPIs keep for receivers on their node. And
  /// how long it waits before: a default, far longer than a receiver takes that is there.
  static constexpr std::uint64_t kMostLeft = 64 << 10;
  static constexpr std::chrono::milliseconds kWaits{1};

  /// Lends the memory, `settled` or not (Held), to a receiver; none where it cannot be shared, or no slot is left
  /// whose RTS is as short as the message, and like no other message to that receiver. `synchronous`: it is
  /// not over before its receiver has come, and so never left.
  std::unique_ptr<SendTransfer> announce(const void* data, std::uint64_t bytes, const Envelope& to, bool settled,
                                         bool synchronous = false);

  /// Whether what was received is an RTS.
  bool is_rts(const void* data, std::uint64_t bytes) const {
    if (bytes < kLeastLookedAt || bytes > kLongestRts) return false;
    std::uint64_t first[2];
    std::memcpy(first, data, sizeof first);
    return first[0] == job_[0] && first[1] == job_[1];
  }

  /// How long a message is that a probe found, of `bytes` bytes there; none where it is the program's own. `members`:
  /// of the communicator (Envelope). `taken`: a matched probe took it from MPI, and the next one finds another. To be
  /// asked when nothing of that communicator, sender and tag is received that has not been looked at. Then the answer
  /// is wrong in one case: the program's own message, of that very length, was sent behind the RTS with the
  /// same tag, and in another communicator of the same ranks in the same order.
  std::optional<std::uint64_t> announced(int sender, int tag, std::uint64_t members, std::uint64_t bytes, bool taken);

  /// A message that is being fetched.
  class RecvTransfer final : public mpi::RecvTransfer {
   public:
    std::uint64_t bytes() const override { return rts_.bytes; }
    std::string_view plan() const override { return kPlan; }
    std::string how() const override;
    int peer() const override { return rts_.sender; }
    /// The sender is told when it has come. Errors: those of the copy.
    Result<bool> test() override;

   private:
    friend class Messages;
    RecvTransfer(Messages& messages, const Rts& rts) : messages_(messages), rts_(rts) {}
    Messages& messages_;
    const Rts rts_;
    Status fetch_file();
    Result<bool> copied();
    /// Returns, of a put, whether the message has come, or the sender may still accept the RTR.
    Result<bool> accepted();
    /// How the message comes. `put`: by its sender; `get`: by a lane of this process; `kernel_get`: by a block for
    /// small copies; `copied`: to host memory; `host_bounce`: from a copy in host memory, which this process asked
    /// for; `buffered`: which its sender had left.
    enum class Protocol { put, get, kernel_get, copied, host_bounce, buffered } protocol_ = Protocol::host_bounce;
    void* to_ = nullptr;
    int device_ = -1;
    /// The time until which the sender may accept the RTR: from the first look on, since a sender that finds many
    /// messages looks at all of them before it accepts any, and anew while the sender goes on to accept others. Some
    /// messages that are got while others are put both ways take half as long again (2 × H200).
    std::optional<std::chrono::steady_clock::time_point> until_;
    std::uint64_t alive_ = 0, looks_at_first_ = 0;  // of the sender
    CopyScheduler::UnderWay under_way_;             // of a get
    std::shared_ptr<const path::Mapping> mapping_;  // copied
    stage::CopyQueue* line_ = nullptr;
    std::uint64_t copy_ = 0;
    bool told_ = false;
    Status failed_;
  };

  /// Copies a short message to settled memory of a GPU, now; none where that is not possible: then it is to be
  /// fetched.
  std::unique_ptr<RecvTransfer> kernel_get(const Rts& rts, bool matched, void* to, int device);
  /// Begins to bring the message to memory of a GPU, or of the host (`device`: -1). `matched`: its RTS was
  /// received by MPI_Mrecv.
  std::unique_ptr<RecvTransfer> fetch(const Rts& rts, bool matched, void* to, int device);
  /// This rank begins a progress pass over all that it has sent: receivers wait longer for their RTRs to be accepted.
  void begin_pass();
  /// The message is not wanted: it is longer than its receive allows.
  void refuse(const Rts& rts, bool matched);

 private:
  /// What is known of a message that outlives its Outgoing, as there.
  struct Left {
    Rts rts;
    Envelope to;
    std::uint64_t time, offered;
  };
  /// A sender that did not hear what was wished of it, or refused.
  struct Unresponsive {
    int times = 0;            // in turn, of long messages
    int left = 0;             // its messages that are copied here before it is asked again
    std::uint64_t looks = 0;  // that it had begun
  };
  /// What a probe is told of an RTS, beside its sender.
  struct Looks {
    std::uint64_t step, dest_and_tag, members;
  };
  /// Calls visit(message, bytes) for those of `sender`'s that are on their way and look so, until it returns true.
  template <class Visit>
  void visit_alike(int sender, const Looks& looks, const Visit& visit) const;
  /// An RTS was received; with the mutex held.
  void note_received(const Rts& rts, bool matched);
  void tell(const Rts& rts) const;
  /// A message that is over; with the mutex held.
  void forget(const Left& one);
  /// Forgets messages left for receivers that have them now; with the mutex held.
  void sweep();
  bool has_ended(const Rts& rts) const;
  comm::Slot& slot_of(int sender, int slot) const;
  comm::ProgressSlot& progress_of(int rank) const { return group_.slots(rank).progress; }
  comm::Slot& slot_of(const Rts& card) const { return slot_of(card.sender, card.slot); }
  Rtr rtr_of(const Rts& card) const {
    return Rtr(group_.slots(card.sender).rtr[static_cast<std::size_t>(card.slot)]);
  }

  /// The receiver's side of an RTR; false: there is none.
  bool post_rtr(RecvTransfer& incoming);
  /// Whether the sender would not hear it, as far as is known; with the mutex held.
  bool is_unresponsive(const Rts& card);
  /// Begins to copy from the sender's memory, or asks for a file.
  void get(RecvTransfer& incoming);
  Status begin_get(RecvTransfer& incoming);

  comm::Group& group_;
  const std::array<std::uint64_t, 2> job_;
  stage::Gpus& gpus_;
  IpcCache& ipc_cache_;
  LookAlikes& look_alikes_;
  std::mutex mutex_;
  RtsSlots slots_;
  std::array<device::Word, Rts::kSlots> uses_{};
  std::array<std::vector<std::byte>, Rts::kSlots> cards_;  // what is sent, of each slot that was ever in use
  std::uint64_t numbers_ = 0;
  std::vector<Left> left_;          // messages whose sends are over, and whose receivers have not come
  std::map<int, RtsTracker> seen_;  // by sender
  bool warned_ = false;
  std::map<int, std::unique_ptr<stage::CopyQueue>> lines_;  // by device
  std::map<int, Unresponsive> unresponsive_;                // by sender
  CopyScheduler copies_;
};

}  // namespace sennit::shim::mpi
