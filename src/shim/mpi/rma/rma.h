// Does one-sided communication: calls whose window or buffers are GPU memory reach that memory themselves
// (windows.h).
//
// State: the windows, made with the first that has GPU memory. Lock: mutex_, of that. Locks of Staging and Transports
// are taken before it, and no lock under it; the windows lock themselves, and call the MPI.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "shim/mpi/p2p/progress.h"
#include "shim/mpi/rma/windows.h"

namespace sennit::shim::mpi {

class Rma {
 public:
  Rma(Job& job, Reporting& reporting, Staging& staging, Transports& transports, Progress& progress)
      : job_(job), reporting_(reporting), staging_(staging), transports_(transports), progress_(progress) {}

  /// Returns the windows that have to do with GPUs; null: there are none.
  Windows* windows() const {
    Windows* const made = live_windows_.load(std::memory_order_acquire);
    return made == nullptr || made->none() ? nullptr : made;
  }
  /// Collective over `comm`: makes a window as MPI_Win_create, where no call waits in a queue any more.
  int create_window(const WindowMpi& of, Handle comm, WindowMemory memory, std::int64_t unit,
                    const Windows::Make& make);
  /// Does one call; `request`: a pointer to the program's, for one that ends in a request.
  int perform(const WindowMpi& of, Call& call, const Remote& remote, const RealCall& real, void* request);
  /// Refuses MPI_Win_attach of GPU memory.
  int refuse_to_attach(const WindowMpi& of, Handle window) const;

  /// Ends them, at MPI's end.
  void finish();

 private:
  Windows& make_windows(const WindowMpi& of);
  /// Returns whether all ranks of the communicator are known to have this drop-in, which alone answers.
  bool may_ask(Handle comm);

  Job& job_;
  Reporting& reporting_;
  Staging& staging_;
  Transports& transports_;
  Progress& progress_;
  std::mutex mutex_;
  std::unique_ptr<Windows> windows_;
  std::atomic<Windows*> live_windows_{nullptr};  // that, for who has not made it
};

}  // namespace sennit::shim::mpi
