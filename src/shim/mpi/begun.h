// A call of the program's that ends in a request and waits for its turn (turns.h).
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "shim/mpi/call.h"
#include "shim/mpi/shadows.h"
#include "shim/mpi/translate.h"
#include "shim/mpi/turns.h"

namespace sennit::shim::mpi {

class OneNode;

/// The program's call itself, with other memory, in the order of parts; gives its request.
using BeginReal = std::function<int(const StandIns& memory, Handle& request)>;
/// Host memory for what of a call is on GPUs.
using MakeShadows = std::function<Result<std::shared_ptr<Shadows>>(const Call& call)>;

class Begun final : public Turn {
 public:
  Begun(Kind of_kind, const Call& of_call, MakeShadows make_shadows)
      : Turn(of_kind), call(of_call), make_shadows_(std::move(make_shadows)) {}

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

  /// Whether it is over, which this moves on. Only in the program's calls of MPI.
  bool over();
  /// What it ended with, once it is over: MPI's code of the real function, whose error handler has been called; the
  /// error of sennit's; what is to be copied back.
  int code() const { return code_; }
  const Status& status() const { return status_; }
  Shadows* shadows() const { return shadows_.get(); }
  /// Copies that back, unless that has been done: it is the program's then. Errors: as Shadows::give_back.
  Status give_back();

 private:
  const MakeShadows make_shadows_;
  std::shared_ptr<Shadows> shadows_;
  std::atomic<Handle> hidden_{kNoHandle};  // the real function's request, once there is one
  bool given_back_ = false;
  int code_ = 0;
  Status status_;
  std::atomic<bool> over_{false};
};

/// A persistent call that sennit does, on all ranks.
struct Repeated {
  Call call;
  Work work;
  std::shared_ptr<void> with;  ///< Communicators::One, of this call alone
  std::uint64_t bytes = 0;     ///< message_size(), where somebody asks
};

}  // namespace sennit::shim::mpi
