// Handles receives that an RTS may match: it looks at what came, and fetches the message that an RTS announces.
//
// State: whether this process watches its receives, as it does from its first use of a GPU on. It has no lock: a
// Receive is guarded by its request's mutex, or belongs to the one call that made it. The MPI is called here, and the
// locks of Transports and Staging are taken. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "shim/mpi/comm/job.h"
#include "shim/mpi/p2p/request_table.h"
#include "shim/mpi/p2p/transports.h"

namespace sennit::shim::mpi {

/// Says what the program does while a message is looked at: it waits for that, or has other things to do, such as to
/// post more requests; then a message is fetched in some other way than by a copy that is waited for.
enum class Program : std::uint8_t { waits, goes_on };

class Receives {
 public:
  Receives(Job& job, Reporting& reporting, Staging& staging, Transports& transports, RequestTable& requests)
      : job_(job), reporting_(reporting), staging_(staging), transports_(transports), requests_(requests) {}

  /// Returns whether this process watches its receives, and has it do so where it can. `request`: the receive in
  /// question ends in one; one that is not watched keeps the process from doing so later, since it may still be
  /// matched.
  bool begin_to_watch(bool request);
  bool is_watching() const { return watching_.load(std::memory_order_acquire); }
  /// Returns whether begin_to_watch() would say no, and change nothing.
  bool ignores(bool request) const {
    if (is_watching()) return false;
    return job_.communicators == nullptr || unseen_.load(std::memory_order_relaxed) ||
           (!request && !job_.memories.cuda_initialized());
  }
  /// Says why a receive is staged that nothing is looked at for.
  std::string_view why_not_watched() const {
    if (job_.communicators == nullptr) return Job::kNotMet;
    return is_watching() ? kFromHost : "a receive was open before this process used a GPU";
  }

  /// Makes what is to be looked at when the call's receive completes; null: no RTS can match it.
  std::unique_ptr<Receive> watch(const Call& call, const StagedBuffers& staged);
  /// Looks at what came, and begins to fetch what it announces. `bytes`: what its status says.
  void look(Receive& receive, std::int64_t bytes, Program program = Program::waits);
  /// Returns whether the message is where it belongs, or cannot come. `comm`: that of its receive.
  bool arrived(Receive& receive, Handle comm);
  /// Tells of a receive that is over. `staged`: may be null. `bytes`: what the status says, and is to say. `copies`:
  /// see StagedBuffers::copy_out.
  int complete(Receive& receive, Handle comm, StagedBuffers* staged, std::int64_t& bytes,
               stage::SmallCopyBatch* copies = nullptr);

  /// Watches no more, at MPI's end.
  void finish() { watching_.store(false, std::memory_order_release); }

 private:
  static constexpr std::string_view kFromHost = "small, or from host memory";

  void fetch_announced(Receive& receive, std::int64_t bytes, Program program);
  /// Says where a message goes.
  struct Target {
    void* data;
    int device;  // -1: host memory
  };
  /// Returns where a message of so many bytes goes; no value: it cannot, and the receive has an error.
  std::optional<Target> target(Receive& receive, std::uint64_t bytes);

  Job& job_;
  Reporting& reporting_;
  Staging& staging_;
  Transports& transports_;
  RequestTable& requests_;
  std::atomic<bool> watching_{false}, unseen_{false};
};

}  // namespace sennit::shim::mpi
