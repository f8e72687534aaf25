// What sennit has for a communicator of NCCL's: its own among the same ranks, and who does which calls.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "coll/collectives.h"
#include "path/node.h"
#include "plan/chooser.h"
#include "shim/memories.h"
#include "shim/nccl/call.h"
#include "shim/nccl/config.h"
#include "shim/nccl/mistakes.h"
#include "shim/switches.h"

namespace sennit::shim::nccl {

/// A communicator as NCCL describes it.
struct Shape {
  int rank = 0, size = 1, device = 0;
};

/// Whether sennit does a call, and why.
struct Verdict {
  bool taken = false;
  std::string how;                                  ///< the plan, or why it is NCCL's
  std::optional<coll::Plan> forced = std::nullopt;  ///< instead of the one that would be chosen
};

class Counterpart {
 public:
  /// What create() makes: none where no call would be sennit's, as users have to expect.
  struct Made {
    std::unique_ptr<Counterpart> counterpart;
    std::string why_none;
  };
  /// Collective over the exchange's ranks, all of this machine. None, on every rank, where nothing was measured
  /// beside this NCCL of what SENNIT_OPS names, and where a rank asked NCCL for no kernels. Errors, the same on every
  /// rank: mismatch (switches or tables that differ), unsupported (too many ranks, not one node), those of
  /// plan::own_table, of Node::create and of Collectives::meet. `config`: this rank's; all go by the one that allows
  /// the fewest blocks. `own_thread`: the caller is a thread of sennit's, which has no device yet.
  static Result<Made> create(std::unique_ptr<comm::Exchange> exchange, const Shape& shape, const Config& config,
                             Memories& memories, const Switches& switches, bool own_thread);

  /// Whether NCCL is done on every rank when its functions return.
  bool all_block() const { return all_block_; }

  /// The same on every rank for calls that belong together: it looks at the operation, the bytes, the type and the
  /// operator, and at what the ranks agreed on; of a message at its bytes. Stays valid.
  const Verdict& judge(const Call& call);

  /// Enqueues a call that was taken. Errors: aborted, if this rank's program has; as Collectives::call. The loss of
  /// another rank is none: the call waits until abort(), as it would under NCCL, and check() tells.
  Status perform(const Call& call);
  /// Enqueues messages of a group that were taken, all at the same time. `aside`: as perform_aside(), behind all of
  /// their streams; else they have one. Errors: as Collectives::send_receive.
  Status perform_messages(std::span<const Call> calls, bool aside);
  /// Where GPU memory is emulated, waits for what was enqueued: nothing else keeps a stream's order there, and NCCL's
  /// stand-in works at once.
  Status finish_emulated();
  /// The same on a lane of sennit's own behind the call's stream, which is to be handed to join(), to wait for it: so
  /// that calls of several communicators on one stream do not wait for each other.
  Status perform_aside(const Call& call);
  Status join(std::span<const Stream> streams);

  // NCCL keeps the calls of a communicator in order, whatever their streams. So do these two, of calls that different
  // libraries do. Nothing is asked of a stream that was used before: the program may have destroyed it.

  /// To be told before a call on `stream` goes to NCCL: it waits there for what sennit does on another stream.
  /// Errors: those of Executor::adopt and of Collectives::follow; the call would have no order then.
  Status hand_on(Stream stream);
  /// To be told before a call that was taken: whether the latest call was NCCL's, on another stream, and this one is
  /// to be put behind it, which NCCL alone can do. Errors: those of Executor::adopt.
  Result<bool> take_over(Stream stream);
  /// Both, before messages of a group of which some are taken and some go to NCCL: those do not wait for each other,
  /// and what follows waits for both. Errors: those of hand_on().
  Result<bool> divide(Stream taken, Stream passed_on);
  /// To be told before a call goes to NCCL, in the order of all ranks; and of one that NCCL then refused.
  void note_nccls(const Call& call);
  void note_refused(const Call& call);
  /// Device memory of two bytes, for a message of this rank to itself.
  std::byte* own_message() const { return own_message_.data(); }

  /// Collective: the program has registered `bytes` bytes at `data` as a symmetric window, of which NCCL says
  /// `handle`; null: it has none. From now on calls between such windows may go straight. Errors: unsupported where
  /// that cannot be, on every rank; those of a lost rank, which end what waits on all.
  Status open_window(void* data, std::uint64_t bytes, WindowHandle handle);
  /// No call uses it from now on. What other ranks have there is unmapped once this rank's calls are done.
  void close_window(WindowHandle handle);

  /// What has gone wrong, once a call cannot end any more because of it; ok while nothing is missing. A rank that is
  /// gone and that nobody waits for is no error. What waits goes on waiting, until abort().
  Status check();
  /// Ends what waits here. Others hear of it, by check().
  void abort();
  /// To be told when the program has done with the communicator and all work of this rank is: from now on others do
  /// not take it for dead when its process ends.
  void end_in_order();
  /// Whether nothing of this rank is under way; after an error of the device nothing is.
  bool is_idle();
  /// Waits for the work of this rank. Errors: those of check(), and what the work failed with.
  Status flush();
  /// Whether another rank is of this process.
  bool has_siblings() const { return has_siblings_; }
  /// Whether there are graphs with calls of this communicator, which may run any time.
  bool has_graphs() const { return collectives_->has_graphs(); }
  /// Whether this object may go, once the program has done with it: no rank will touch another one's memory any more,
  /// nor has it mapped. To be asked again until it is so; never blocks.
  bool may_go();

 private:
  Counterpart() = default;
  /// A lane of sennit's own. One that has joined a capture belongs to that until the capture ends.
  struct Aside {
    std::unique_ptr<device::Lane> lane;
    std::unique_ptr<device::Event> begin, end;
  };
  Result<device::Lane*> lane(Stream stream);
  /// That of its own, behind the streams.
  Result<device::Lane*> lane_aside(std::span<const Stream> streams);
  /// One for what is part of this capture, or of none.
  Result<Aside*> aside_for(std::uint64_t capture);
  Result<coll::Request> request_of(const Call& call);
  Verdict decide(const coll::Case& which);
  /// `which`: the same in ordinary buffers, and `otherwise` what decide() says of that.
  Verdict decide_between_windows(const Verdict& otherwise, const coll::Case& which);
  Status enqueue(const Call& call, device::Lane& lane);
  /// Errors: aborted, once this rank's program has ended the communicator.
  Status is_open() const;
  /// Whether the call's buffers lie in windows, as on all ranks. Under the mutex.
  bool is_between_windows(const Call& call, const device::Reduction& reduction) const;
  /// Those that the program has given up, if no call uses them any more.
  void unmap_left();
  /// All of them: nothing runs any more.
  void unmap_windows();
  /// Says once, on one rank, that the ranks' calls do not belong together. Errors: peer_lost where what waits here
  /// waits for a rank that has ended the communicator before.
  Status look_for_mistakes();

  Shape shape_;
  std::shared_ptr<device::Executor> executor_;
  std::unique_ptr<path::Node> node_;
  std::unique_ptr<coll::Collectives> collectives_;
  /// When the group failed; the group's thread writes it.
  std::shared_ptr<std::atomic<double>> failed_ = std::make_shared<std::atomic<double>>(0);
  plan::Chooser* chooser_ = nullptr;              // collectives_' own
  std::atomic<std::uint64_t>* shares_ = nullptr;  // in the control segment of the node's group
  Switches switches_;
  bool emulated_ = false, has_siblings_ = false;
  bool any_siblings_ = false;  // some process has several ranks, whichever
  bool all_block_ = true;
  std::atomic<bool> is_aborted_{false};  // by this rank's program

  std::mutex mutex_;
  std::unordered_map<coll::Case, Verdict, coll::HashOfCase> verdicts_;  // by bucket
  Call judged_;                                                         // the latest
  const Verdict* judged_verdict_ = nullptr;
  std::map<Stream, std::unique_ptr<device::Lane>> lanes_;
  std::vector<std::unique_ptr<Aside>> asides_;
  Aside* to_join_ = nullptr;  // the latest that was used
  device::Memory own_message_;
  std::map<WindowHandle, std::shared_ptr<path::Window>> windows_;
  std::vector<std::shared_ptr<path::Window>> left_;  // the program has given them up; still mapped

  Result<device::Queue> queue_of(Stream stream);
  /// Where the latest call was, by who did it; both where a group had messages of both.
  std::optional<device::Queue> ours_, nccls_;
};

}  // namespace sennit::shim::nccl
