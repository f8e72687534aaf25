// Windows does one-sided communication with GPU memory.
//
// 1. The real window has eight bytes of host memory where a rank gave memory of a GPU, and is what the program
//    synchronises with: its epochs and locks are MPI's own. Where MPI may put off a lock, a barrier or the post of
//    another rank to a later call, which is too late for a copy that it does not know of, this file waits for it.
// 2. Memory of GPUs is exported to all ranks of the window (ipc_cache.h). Data goes there and comes from there by
//    copies of this process's lanes; synchronising calls wait for them before the real one.
// 3. Accumulating calls lock the target rank, bring its elements here, let MPI do the operation, and write them back;
//    or a GPU does it where they are, if there are many, without gaps, and it has the operation.
// 4. For a target in host memory the real function is called, with host memory in the place of GPU memory at this end
//    until the next synchronising call.
// 5. Where ranks cannot reach each other's memory, as on several nodes, MPI's window is of host memory that stands
//    for the GPUs' (public_copy.h). Calls are MPI's, as of targets in host memory, and the two are brought together
//    where the target takes part: in fences, at post and wait. Calls in a passive epoch are refused: a target that
//    does not take part would never see them, and a program that relies on that would be wrong and not told.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "comm/group.h"
#include "msg/ipc_cache.h"
#include "shim/mpi/call/call.h"
#include "shim/mpi/call/regions.h"
#include "shim/mpi/rma/accumulation.h"
#include "shim/mpi/rma/public_copy.h"
#include "shim/mpi/rma/window_mpi.h"
#include "shim/mpi/staging/staged_buffers.h"

namespace sennit::shim::mpi {

/// The other side of a one-sided call.
struct Remote {
  Handle window;
  int rank;
  std::int64_t place;  ///< in the target's units
  std::int64_t count;
  Handle type;
  Handle op = kNoHandle;
};

/// Returns where `bytes` bytes from `place` units on lie in a target's memory; no value where they reach out of it.
std::optional<std::int64_t> offset_of(std::int64_t place, std::int64_t unit, const Span& span, std::uint64_t bytes);

/// Holds what windows use of the process.
struct WindowTools {
  const Mpi& mpi;
  const WindowMpi& windows;
  stage::Gpus* gpus;                                ///< null where no GPU answers
  stage::PinnedPool* host;                          ///< null there too
  comm::Group* group;                               ///< null where the job's ranks could not meet
  msg::IpcCache* ipc_cache;                         ///< null there too
  std::function<int(const void*)> holder;           ///< the device of an address, -1 for host memory
  std::function<int(Handle comm, int rank)> world;  ///< rank in MPI_COMM_WORLD
  std::function<void()> progress;                   ///< of requests that others may wait for
  std::uint64_t sums_from = 0;                      ///< bytes of the accumulating calls that a GPU does
  /// Is told what becomes of a window's memory of `bytes` bytes.
  std::function<void(std::uint64_t bytes, std::string_view how)> tell = [](std::uint64_t, std::string_view) {};
};

/// Holds memory that the program gave for a window, and that MPI was not given.
struct WindowMemory {
  void* base = nullptr;
  std::int64_t bytes = 0;
};

class Windows {
  struct Window;

 public:
  using Shared = std::shared_ptr<Window>;

  explicit Windows(WindowTools tools) : tools_(std::move(tools)) {}

  /// Returns whether no window has anything to do with GPUs.
  bool none() const { return count_.load(std::memory_order_acquire) == 0; }

  /// The real function, over other memory. MPI's code.
  using Make = std::function<int(void* base, std::int64_t bytes, Handle& window)>;
  /// Collective over `comm`: whether any rank has memory of a GPU. MPI's code.
  static int any_gpu(const Mpi& mpi, Handle comm, bool mine, bool& any);
  /// Collective over `comm`, of which a rank has memory of a GPU. MPI's code; `why`: what is wrong, where that is not
  /// the real function's to say.
  int create(Handle comm, WindowMemory memory, std::int64_t unit, const Make& make, Status& why);
  /// Forgets the window before the real function: it is not found any more, since another window may have its handle
  /// when that function returns. end_free() comes after it, with what begin_free() returned.
  Shared begin_free(Handle window);
  void end_free(const Shared& window);
  void stay(Handle window, Shared known);  ///< the real function failed
  /// Returns the memory that the program gave, of a window that has other memory for MPI; null: of no such window.
  const WindowMemory* memory_of(Handle window) const;
  /// Returns whether other ranks reach the memory through mirrors.
  bool is_mirrored(Handle window) const;

  /// Says how a call went.
  struct Outcome {
    int code = 0;
    std::uint64_t bytes = 0;
    std::string_view how{};     ///< empty: no GPU was in it
    Status why{};               ///< what is wrong, where that is sennit's to say
    std::string_view detail{};  ///< of how, for people, behind it
  };
  /// Makes one call. `request`: a pointer to the program's, for a call that ends in one.
  Outcome perform(Call& call, const Remote& remote, const RealCall& real, void* request);

  /// Copies of the window are over when it returns; MPI's code.
  int finish(Handle window);
  static constexpr int kEveryRank = std::numeric_limits<int>::min();  ///< no MPI's constant for a rank
  /// Describes what a real call brings to host memory, to be written to a GPU.
  struct Pending {
    int rank;
    std::shared_ptr<StagedBuffers> staged;
    std::byte* to = nullptr;  ///< null: nothing comes
    const std::byte* image = nullptr;
    std::optional<Region> region{};
    bool scattered = false;  ///< the staged buffers themselves bring it
  };
  using Brought = std::vector<Pending>;
  /// Takes the calls that a real function completes, to `rank` or to kEveryRank, before it is called, without those
  /// that another thread begins meanwhile. copy_out() comes after it: what came is where it belongs; keep_pending():
  /// the function failed, and the calls stay.
  Brought take_pending(Handle window, int rank);
  int copy_out(Handle window, const Brought& brought);
  void keep_pending(Handle window, Brought brought);
  /// This rank's memory and its mirror are brought together. MPI's code.
  int settle(Handle window);
  /// Settles the mirrors of all ranks, at the end of a fence.
  int settle_all(Handle window);
  /// Waits until all ranks of the window have come here.
  int meet(Handle window);
  /// Passive epochs begin and end. `rank` -1: at all.
  void hold(Handle window, int rank, bool held);
  /// Tells the ranks of an MPI_Win_post, and waits for that of the ranks of an MPI_Win_start.
  int post(Handle window, Handle group);
  int await_posts(Handle window, Handle group);
  int err_attach() const { return tools_.windows.err_attach(); }
  int fail(Handle window, int code) const { return tools_.windows.fail(window, code); }

 private:
  struct Target {
    bool gpu = false;  ///< which others reach
    bool mirrored = false;
    int world = -1;
    std::int64_t unit = 1;
    std::uint64_t bytes = 0;
    msg::IpcHandle lent{};
    std::byte* own = nullptr;                                      ///< this rank's
    std::map<int, std::shared_ptr<const path::Mapping>> mappings;  ///< by device
    enum { free, asked, held } lock = free;                        ///< of a passive epoch
  };
  struct Window {
    std::mutex mutex;
    Handle comm = kNoHandle;  ///< of the same ranks; kNoHandle: all its memory is the host's
    WindowMemory memory;
    std::vector<Target> targets;
    bool mirrored = false;
    std::unique_ptr<PublicCopy> mirror;                  ///< of this rank's memory; null: the host's
    alignas(64) std::array<std::byte, 64> anchor{};      ///< what MPI has of this rank where nothing is mirrored
    std::map<int, std::unique_ptr<device::Lane>> lanes;  ///< by device
    std::map<int, bool> busy;
    std::map<int, device::Memory> brought;  ///< by device: origins in host memory, for its kernels
    std::vector<Pending> pending;
  };
  struct Description;

  Shared find(Handle window) const;
  Shared find_or_make(Handle window);
  /// Exchanges what ranks tell each other, and imports each other's memory. Returns an empty text, or why they do not
  /// reach that memory, on all ranks.
  std::string prepare(Handle comm, WindowMemory memory, std::int64_t unit, bool gpu, Window& window);
  Status borrow_all(Window& window);
  /// Errors: on all ranks.
  Status mirror(Handle comm, bool gpu, Window& window);
  int settle(Window& window);
  /// ok while all ranks of the window live.
  Status check(Handle window) const;
  int wait_for(Handle window, Handle request);
  /// Returns an error where the call may not be made of a target that is mirrored.
  Outcome may_reach_mirror(const Remote& remote, const Target& target) const;
  Outcome staged(Call& call, const Remote& remote, const RealCall& real, void* request);
  /// Waits until the lock that the program asked for is held. Returns MPI's code.
  int await_lock(const Remote& remote, Window& window, Target& target);
  Outcome direct(const Call& call, const Remote& remote, bool wait, Window& window, Target& target);
  /// Makes the call; returns a detail of how it was done.
  Result<std::string_view> put_or_get(const Call& call, bool put, Window& window, const Region& there, std::byte* at,
                                      int device, bool wait);
  /// An accumulating call of memory that is reached: from `at` on, by lanes of `device`.
  struct Reaching {
    const Call& call;
    const Remote& remote;
    Window& window;
    const Target& target;
    const Region& there;
    std::byte* at;
    int device;
  };
  /// Says how a call was done, and a detail of that.
  struct How {
    std::string_view how, detail;
  };
  Result<How> accumulate(const Reaching& reaching);
  /// Returns what the device is to do of the call; no value where it is for the host, and `why` says why.
  std::optional<Accumulation> on_gpu(const Reaching& reaching, std::string_view& why) const;
  Status accumulate_on_gpu(const Reaching& reaching, const Accumulation& whole);
  /// Returns memory of the GPU that adds, for what is brought there; null: no memory is left.
  std::byte* room_to_bring(const Reaching& reaching) const;
  Status accumulate_on_host(const Reaching& reaching);
  Result<std::byte*> reach(Target& target, int device);
  Copy copy_by(int device);
  Status bring(const Pending& one);
  int finish(Window& window);
  int copy_out(const Brought& brought);
  /// Lets go of the memory that the window has exported and imported.
  void let_go(Window& window);

  const WindowTools tools_;
  mutable std::shared_mutex mutex_;
  std::unordered_map<Handle, Shared> all_;
  std::atomic<int> count_{0};
};

}  // namespace sennit::shim::mpi
