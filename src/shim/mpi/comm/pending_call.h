// Holds a call of the program's that ends in a request and waits in a queue (call_queue.h).
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "shim/mpi/call/call.h"
#include "shim/mpi/call/translate.h"
#include "shim/mpi/comm/call_queue.h"
#include "shim/mpi/staging/staged_buffers.h"

namespace sennit::shim::mpi {

class OneNode;

/// The program's call itself, with other memory, in the order of parts; gives its request.
using BeginReal = std::function<int(const StandIns& memory, Handle& request)>;
/// Host memory for what of a call is on GPUs.
using MakeStagedBuffers = std::function<Result<std::shared_ptr<StagedBuffers>>(const Call& call)>;

class PendingCall final : public QueuedCall {
 public:
  PendingCall(Kind of_kind, const Call& of_call, MakeStagedBuffers make_staged)
      : QueuedCall(of_kind), call(of_call), make_staged_(std::move(make_staged)) {}

  void call_real() override;
  Status begin() override;
  Result<bool> ended() override;
  void end(const Status& status) override;

  Call call;
  BeginReal real;
  Work work;                        ///< of one that is offered
  OneNode* on_node = nullptr;       ///< who does it, once that is known
  std::string how;                  ///< sennit does it; empty where it is staged
  std::string why;                  ///< it is staged, if it is
  std::chrono::nanoseconds took{};  ///< of the call, without what came later
  std::uint64_t bytes = 0;          ///< message_size(), where somebody asks

  /// Moves the call on, and returns whether it is over. Only in the program's calls of MPI.
  bool over();
  /// Returns MPI's code of the real function, whose error handler has been called, once the call is over. status() is
  /// the error of sennit's; staged() is what is to be copied back.
  int code() const { return code_; }
  const Status& status() const { return status_; }
  StagedBuffers* staged() const { return staged_.get(); }
  /// Copies that back, unless that has been done: it is the program's then. Errors: as StagedBuffers::copy_out.
  Status copy_out();

 private:
  const MakeStagedBuffers make_staged_;
  std::shared_ptr<StagedBuffers> staged_;
  std::atomic<Handle> hidden_{kNoHandle};  // the real function's request, once there is one
  bool given_back_ = false;
  int code_ = 0;
  Status status_;
  std::atomic<bool> over_{false};
};

/// A persistent call that sennit does, on all ranks.
struct PersistentCall {
  Call call;
  Work work;
  std::shared_ptr<void> with;  ///< CommState, of this call alone
  std::uint64_t bytes = 0;     ///< message_size(), where somebody asks
};

}  // namespace sennit::shim::mpi
