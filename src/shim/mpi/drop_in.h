// The drop-in as this process has it: what becomes of a call that has GPU memory among its buffers.
//
// 1. A collective with memory of one GPU at each rank becomes sennit's (counterpart.h), if all ranks can (board.h).
//    Ranks may be on several nodes, where messages are long (several_nodes.h). One that ends in a request waits its
//    turn (turns.h), and calls behind it wait for that.
// 2. A message to another process of this node, from GPU memory without gaps, is announced, and copied by the GPU
//    at one of its ends (messages.h).
// 3. A long one to a process of another node goes by pieces (pieces.h).
// 4. One-sided calls reach the window's GPU memory themselves (windows.h).
// 5. Everything else goes to the real function, with host memory in the place of GPU memory (shadows.h).
#pragma once

#include <sched.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "shim/explanations.h"
#include "shim/memories.h"
#include "shim/mpi/attached_buffer.h"
#include "shim/mpi/call.h"
#include "shim/mpi/communicators.h"
#include "shim/mpi/gpus.h"
#include "shim/mpi/halves.h"
#include "shim/mpi/helper.h"
#include "shim/mpi/host_memory.h"
#include "shim/mpi/message_size.h"
#include "shim/mpi/messages.h"
#include "shim/mpi/open_requests.h"
#include "shim/mpi/patience.h"
#include "shim/mpi/pieces.h"
#include "shim/mpi/shadows.h"
#include "shim/mpi/windows.h"
#include "shim/report.h"
#include "shim/switches.h"

namespace sennit::shim::mpi {

class DropIn {
 public:
  DropIn(std::unique_ptr<Mpi> mpi, Switches switches, std::unique_ptr<Memories> memories)
      : mpi_(std::move(mpi)), switches_(std::move(switches)), memories_(std::move(memories)) {}

  const Mpi& mpi() const { return *mpi_; }
  Memories& memories() { return *memories_; }
  OpenRequests& requests() { return requests_; }
  Halves& halves() { return halves_; }
  AttachedBuffer& attached_buffer() { return attached_buffer_; }

  /// Collective over MPI_COMM_WORLD, at the end of MPI_Init: finds out who is where. False: no process of the job can
  /// have GPU memory, and nothing is left to do.
  bool start();
  /// After a start() that failed: not all ranks have this drop-in, and what this one has on GPUs is staged.
  bool stages_alone() const { return apart_ && memories_->possible(); }
  /// Some may not even have taken part in it.
  bool unmatched() const { return unmatched_; }
  /// Collective, at the beginning of MPI_Finalize.
  void finish();

  bool is_device(const void* address) const { return memories_->is_device(address); }

  /// A collective call, of function `what`, whose buffers are not GPU memory: the other ranks may wait to hear so.
  /// What the program is told where calls before it were in vain, since a rank was lost: MPI would wait for ever.
  std::optional<int> pass(std::string_view what, Handle comm);

  /// Before a blocking call of all ranks of `comm`, of function `what`, that is the MPI's alone: as pass(), and as
  /// let_all_come().
  std::optional<int> come(std::string_view what, Handle comm);
  /// Of one that waits for the ranks of another communicator too, each led by a rank that the other one reaches.
  struct Leaders {
    int local = 0;
    Handle between = kNoHandle;  ///< where the local leader reaches the other one
    int remote = 0, tag = 0;
  };
  std::optional<int> come(std::string_view what, Handle comm, const Leaders& leaders);
  /// Of one of all ranks of a group alone, which keeps no order with others of `comm`.
  std::optional<int> come(std::string_view what, Handle comm, Handle group, int tag);
  /// Of one of all ranks of a file or a window.
  std::optional<int> come(std::string_view what, Shared kind, Handle handle);
  /// Such a call has made one: those of the same ranks are told apart from now on.
  void name(Shared kind, Handle made, Handle comm) {
    if (communicators_ != nullptr) communicators_->name(kind, made, comm);
  }

  /// As pass() of a call that ends in a request; false where it has to wait for its turn, and is not counted yet.
  bool pass_at_once(Handle comm);

  /// Blocking calls, to the end. What the program is to be told. `why`: one that is no collective is staged.
  int perform(const Call& call, const RealCall& real, std::string_view why = "no such call on GPUs");
  /// Host memory for what of the call is on GPUs. Errors: those of Shadows::make, and no GPU that answers.
  Result<std::shared_ptr<Shadows>> begin(const Call& call) { return begin(call, true); }
  /// A copy in host memory of the call's first buffer, wherever that is: elements lie as they do there.
  struct Copy {
    void* address = nullptr;
    std::shared_ptr<void> kept;
    Handle type = kNoHandle;  ///< of its elements, where that is another one
  };
  /// Errors: as begin().
  Result<Copy> copy(const Call& call);
  /// Says what went wrong, and what the program is told.
  int fail(const Call& call, const Status& status);
  int fail(std::string_view what, Handle comm, const Status& status);
  /// Says alone what went wrong.
  void say(std::string_view what, Handle comm, const Status& status) const;
  /// Whether a wait, in function `what`, for a request or for a rank of MPI_COMM_WORLD is in vain, since that was
  /// lost: then what the program is told. What others' deaths are to it is the MPI's to say.
  std::optional<int> in_vain(std::string_view what, OpenRequest& open);
  std::optional<int> in_vain(std::string_view what, Handle comm, int world_rank);

  /// What a collective call that ends in a request, or one of neighbours, or what else has to keep their order, is to
  /// wait with for its turn; null where it need not wait, and is to be made at once; `why` it is then staged.
  std::shared_ptr<Begun> take_turn(const Call& call, std::string_view& why);
  /// It waits from now on; the program's request. MPI's code.
  int wait_for_turn(const std::shared_ptr<Begun>& begun, Handle& request);
  /// Collective, when a persistent collective call is made: whether sennit does it, at every start, on all ranks.
  /// Null: it does not, and `why` says why. Of host memory: none().
  std::unique_ptr<Repeated> repeat(const Call& call, std::string_view& why);
  void repeat_none(Handle comm);
  /// Starts such a call; false where it is to be started by the real function.
  bool start_again(OpenRequest& open);
  /// Whether a call of any communicator waits for its turn, and so of this one.
  bool any_waits() const { return waiting_.load(std::memory_order_acquire) != 0; }
  bool needs_no_turn(Handle comm) const;
  /// Lets all that wait for their turn begin, before a call that may wait for other ranks; tells as pass().
  std::optional<int> settle(std::string_view what, Handle comm);
  /// To be done once no call waits for its turn.
  void when_none_waits(std::function<void()> what);
  /// One is over: what to tell of it. `comm`: that of its request now, as of all that outlives a call.
  int complete(Begun& begun, Handle comm);

  /// A send whose memory is lent to its receiver; null where it is to be staged, and `why` says why.
  std::unique_ptr<Outgoing> announce(const Call& call, std::string_view& why);
  /// Until the receiver has it. MPI's code.
  int wait_until_taken(Outgoing& outgoing, const Call& call);

  /// Whether this process looks at receives, as it does from its first use of a GPU on. `request`: the receive in
  /// question ends in one; such a receive that is not looked at keeps the process from doing so later, since it may
  /// still be matched.
  bool looks_at_receives(bool request);
  /// Whether that is so of no receive, and asking would change nothing.
  bool overlooks_receives(bool request) const {
    if (listening_.load(std::memory_order_acquire)) return false;
    return communicators_ == nullptr || unseen_receives_.load(std::memory_order_relaxed) ||
           (!request && !memories_->awake());
  }
  /// What there is to look at when the call's receive completes; null where no announcement can match it.
  std::unique_ptr<Receive> receive_of(const Call& call, const Shadows& shadows);
  /// What a program does that something is looked at for: it waits for that, or has other things to do, such as to
  /// post more requests; then a message is fetched in some other way than by a copy that is waited for.
  enum class Program : std::uint8_t { waits, goes_on };
  /// What came is looked at. `bytes`: what its status says.
  void look(Receive& receive, std::int64_t bytes, Program program = Program::waits);
  /// Whether the message is where it belongs, or cannot come. `comm`: that of its receive.
  bool arrived(Receive& receive, Handle comm);
  /// A receive is over: what to tell of it. `shadows`: may be null. `bytes`: what the status says, and is to say.
  /// `bringing`: see Shadows::give_back.
  int complete(Receive& receive, Handle comm, Shadows* shadows, std::int64_t& bytes, Bringing* bringing = nullptr);

  /// Whether the real request may be completed: everything of it that the real library does not know of is done.
  bool ready(Handle request, OpenRequest& open, Program program = Program::waits);
  /// The receives that were posted first are looked at: what has come is fetched while a program posts more requests,
  /// at microseconds each, before it waits.
  void look_at_first();
  /// Begins what receivers wish of the program's first sends, where it is worth a pause between two of them.
  void hear_first();
  /// What a request has received goes to its GPU before the request is completed, if it has come: whoever waits for
  /// several need not have each copied when all are there.
  void bring(Handle request, OpenRequest& open);
  /// Requests move on, which others may wait for; to be called again and again by whoever waits.
  void progress();
  /// Lets the MPI itself go on, by a look at a communicator: there is none that is known where a program has begun
  /// MPI_Sessions alone.
  void progress_mpi() const {
    if (communicators_ != nullptr) mpi_->progress();
  }
  /// Completes what has come or gone of requests that the program has freed.
  void complete_left(Program program);
  /// Where requests are open, as progress() until all ranks have come to this rank's latest collective call that may
  /// wait for one of them: a rank that has not come may wait for a request of this one to move, and a blocking call
  /// of the MPI would not move it. Tells as pass(), of function `what`.
  std::optional<int> let_all_come(std::string_view what, Handle comm);
  /// To be kept from before that to the call's end: ranks of other nodes begin to announce nothing meanwhile, which
  /// nobody would look at.
  Questions::Silence silence() {
    return requests_.none() || communicators_ == nullptr ? Questions::Silence()
                                                         : Questions::Silence(communicators_->questions());
  }
  bool busy() const { return requests_.busy(); }
  /// A probe has taken this message out of a communicator's, for a receive of it alone.
  void match(Handle message, Handle comm);
  /// Where that was; kNoHandle: not known.
  Handle comm_of(Handle message);
  /// How long a message is that a probe found; none: that cannot be said yet, ask again. `taken`: MPI has no more of
  /// it to find.
  std::optional<std::int64_t> probed(Handle comm, int source, int tag, std::int64_t bytes, bool taken);
  /// Whether any message of this process is ever announced. False before MPI_Init too, where MPI must not be asked.
  bool may_announce() const { return communicators_ != nullptr && memories_->possible(); }
  /// Before a message of the program's own is sent, of `bytes` bytes; to be kept until that call returns. `again`: it
  /// is sent whenever the program says so.
  LookAlikes::Sending note(std::int64_t bytes, int dest, int tag, Handle comm, bool again) {
    const auto step = Announcement::step_of(static_cast<std::uint64_t>(bytes));
    if (!step) return {};
    const int to = communicators_->peer(comm, dest).world_rank;
    return to < 0 || to == rank_ ? LookAlikes::Sending() : look_alikes_.begin({to, tag, comm}, *step, again);
  }

  /// Before what waits until buffered messages are sent: where requests move, as progress() until they are, if the
  /// MPI can tell.
  void let_buffered_go();

  /// Before a communicator, a file or a window is freed.
  void forget(Handle comm);
  /// After that, where callbacks of the program's may have used it.
  void forget_freed(Handle comm);
  void forget(Shared kind, Handle handle);

  /// What one-sided communication has to do with GPUs; null: nothing yet.
  Windows* windows() const {
    Windows* const made = live_windows_.load(std::memory_order_acquire);
    return made == nullptr || made->none() ? nullptr : made;
  }
  /// Collective over `comm`, as MPI_Win_create, where nothing waits for its turn any more.
  int create_window(const WindowMpi& of, Handle comm, WindowMemory memory, std::int64_t unit,
                    const Windows::Make& make);
  /// One call; `request`: a pointer to the program's, for one that ends in a request.
  int one_sided(const WindowMpi& of, Call& call, const Remote& remote, const RealCall& real, void* request);
  /// MPI_Win_attach of GPU memory.
  int refuse_to_attach(const WindowMpi& of, Handle window);

  /// Whether anybody asks what becomes of calls, for the report or to have it explained.
  bool tells() const { return switches_.report || explains_; }
  /// What became of a call, for the report: `bytes` of a message that is known, else its message_size(). A message's
  /// way is explained when it is known: see explain().
  void count(const Call& call, std::uint64_t bytes, std::string_view how,
             std::chrono::steady_clock::time_point since);
  void count(const Call& call, std::uint64_t bytes, std::string_view how, std::chrono::nanoseconds time);
  template <class Time>
  void count(const Call& call, std::string_view how, Time time) {
    if (switches_.report) count(call, message_size(call), how, time);
  }
  /// The same of one that is staged, and explained.
  template <class Time>
  void count_staged(const Call& call, std::uint64_t bytes, const Shadows& shadows, std::string_view why, Time time) {
    if (!tells()) return;
    const std::string how = "staged: " + std::string(why);
    count(call, bytes, how, time);
    explain_staged(call.function(), bytes, how, shadows.how());
  }
  template <class Time>
  void count_staged(const Call& call, const Shadows& shadows, std::string_view why, Time time) {
    if (tells()) count_staged(call, message_size(call), shadows, why, time);
  }
  /// Why a receive is staged that nothing is looked at for.
  std::string_view why_not_looked_at() const {
    if (communicators_ == nullptr) return kNotMet;
    return listening_ ? kFromHost : "a receive was open before this process used a GPU";
  }
  static constexpr std::string_view kFromHost = "small, or from host memory";

 private:
  /// One that is ready, and claimed; false: the real library has not done with it.
  bool complete_left(Handle request, OpenRequest& open);
  Gpus* gpus();
  Messages* messages();
  Loans* loans();
  Pieces* pieces();
  /// Begins to bring what a card of Messages or Pieces tells of to where it belongs; it is what the receive got.
  template <class Card, class Way>
  void fetch(Receive& receive, Way& way, const void* came, Program program);
  /// As announce(), of so many bytes of a GPU's to a rank of another node.
  std::unique_ptr<Outgoing> announce_elsewhere(const void* data, std::uint64_t bytes, const Envelope& to,
                                               std::string_view& why);
  /// Ranks of other nodes with whom messages are on their way, or may be when nobody looks.
  std::vector<int> awaited_elsewhere();
  /// What a message of `bytes` bytes announces that a probe found; none where it is the program's own. `taken`: MPI
  /// has no more of it to find.
  std::optional<std::int64_t> announced(const Communicators::Peer& from, int tag, std::int64_t bytes, bool taken);
  Windows& make_windows(const WindowMpi& of);
  /// Whether all ranks of the communicator are known to have this drop-in, which alone answers.
  bool may_ask(Handle comm);
  /// `again`: in the program's own call, which has asked where its memory is.
  Result<std::shared_ptr<Shadows>> begin(const Call& call, bool again);
  /// What has become of a communicator's calls that end in a request.
  enum class Until : std::uint8_t {
    begun,  ///< none waits for its turn
    done,   ///< and sennit is doing none: what does them is free
  };
  /// Whether there is nothing to settle, as in almost every call.
  static bool is_settled(const Communicators::One& one, Until until) {
    const auto& any = until == Until::begun ? one.waits : one.active;
    return one.met && !any.load(std::memory_order_acquire) && !one.broken;
  }
  /// Its ranks have met. Errors: a rank was lost before that, or while calls were under way.
  Status settle(Handle comm, Communicators::One& one, Until until);
  /// As progress(), until `done` says so, or nothing on `comm` will be done any more. Errors: one of `ranks`, of
  /// MPI_COMM_WORLD, was lost.
  template <class Done>
  Status move_until(Handle comm, std::span<const int> ranks, const Done& done);
  /// Until all ranks of this node have come, and those elsewhere that are awaited. Errors: as move_until().
  Status move_until_all_come(Handle comm, const Communicators::One& one);
  /// As let_all_come(), of calls that no board counts. Errors: as move_until().
  Status let_all_arrive(Handle comm, const Participants& all);
  /// Whether sennit can do a call that ends in a request; else why not. What it is to do goes to `work`.
  WhyNot why_not(const Call& call, Communicators::One& one, Work& work);
  /// What all ranks say of a persistent call: its counterpart, if sennit does it; else `why`.
  std::shared_ptr<Communicators::One> agree_to_repeat(Handle comm, const Call* call, Work& work,
                                                      std::string_view& why);
  void join(Handle comm, Communicators::One& one, const std::shared_ptr<Begun>& begun);
  /// Moves on what waits for its turn; whether any is left.
  bool move_turns(Mover mover);
  class Table;
  /// The call done by sennit; none where it is to be left to the real function, and `why` says why.
  std::optional<int> accelerate(const Call& call, std::string_view& why);
  static constexpr std::string_view kNotMet = "the job's ranks could not meet";
  /// "allreduce", "iallreduce", "allreduce_init": what the report calls it.
  static std::string name_of(Function function);
  static std::string name_of(const Call& call) { return name_of(call.function()); }
  /// "MPI_Allreduce": what errors call it.
  static std::string function_of(const Call& call);
  /// The device that all the call's memory is on; -1 for host memory or several devices, none where nothing is used.
  std::optional<int> device_of(const Call& call) const;
  /// Whether SENNIT_OPS lets sennit do it.
  bool wanted(const Call& call) const;
  /// Whether all ranks have offered call `number`. Errors: a rank was lost; mismatch.
  Result<bool> wait_for_all(Communicators::One& one, std::uint64_t number, std::uint32_t signature, const Call& call);
  /// What `answer` says in the end; false where the communicator is of no use any more. Errors: a rank was lost.
  template <class Answer>
  Result<bool> wait_for(const Answer& answer, const Communicators::One& one, const Call& call);
  /// The rank, of MPI_COMM_WORLD, lives; or whoever a request waits for, as far as the MPI would not say so.
  Status check(int world_rank) const;
  Status lost(OpenRequest& open) const;
  /// MPI's.
  int code_of(const Status& status) const;
  // All that explains is to be asked for where explains_ alone.
  void explain_staged(Function function, std::uint64_t bytes, std::string_view how, std::string_view detail);
  /// A message that was sent is taken.
  void explain(Function function, const Outgoing& outgoing);
  /// As ready(), of a persistent send.
  bool is_sent(OpenRequest& open, Program program);
  /// A receive has been looked at, or its message has come. `bytes`: what its status says.
  void explain_staged(const Receive& receive, std::int64_t bytes);
  void explain_fetched(const Receive& receive);
  void fetch_announced(Receive& receive, std::int64_t bytes, Program program);

  const std::unique_ptr<Mpi> mpi_;
  const Switches switches_;
  const std::unique_ptr<Memories> memories_;
  std::mutex gpus_mutex_;
  std::unique_ptr<Gpus> gpus_;
  std::unique_ptr<HostMemory> host_;
  Status no_gpus_;
  std::unique_ptr<Communicators> communicators_;
  std::unique_ptr<Loans> loans_;  // made at first use
  LookAlikes look_alikes_;
  std::unique_ptr<Messages> messages_;             // made at first use
  std::atomic<Messages*> live_messages_{nullptr};  // that, for who has not made it
  std::unique_ptr<Pieces> pieces_;                 // made at first use
  std::unique_ptr<Windows> windows_;               // made at first use
  std::atomic<Windows*> live_windows_{nullptr};
  std::atomic<bool> listening_{false}, unseen_receives_{false};
  std::mutex matched_mutex_;
  std::unordered_map<Handle, Handle> matched_;  // messages that probes have taken, latest of each handle: their comms
  Halves halves_;
  AttachedBuffer attached_buffer_;
  OpenRequests requests_;
  /// Communicators with calls that wait for their turn, or that sennit does.
  struct Active {
    Handle comm;
    Communicators::One* one;
  };
  std::recursive_mutex turns_mutex_;  // again: a real function may call the program's error handler, and that MPI
  std::vector<Active> active_;
  std::vector<std::function<void()>> later_;
  std::atomic<int> waiting_{0};
  std::atomic<int> repeated_{0};    // persistent calls that have a counterpart
  std::unique_ptr<Helper> helper_;  // made when first needed
  Report report_;
  Explanations explanations_;
  bool explains_ = false;  // since MPI_Init, on rank 0
  int rank_ = 0;
  bool apart_ = false, unmatched_ = false;
};

}  // namespace sennit::shim::mpi
