#include "shim/mpi/comm/pending_call.h"

#include <new>

#include "shim/mpi/comm/one_node.h"

namespace sennit::shim::mpi {

void PendingCall::call_real() {
  try {
    auto made = make_staged_(call);
    if (!made) return end(made.status());
    staged_ = std::move(*made);
  } catch (const std::bad_alloc&) {  // in whatever call of MPI its turn comes
    return end(Status(Code::out_of_memory, "no memory"));
  }
  Handle request = kNoHandle;
  if (const int code = real(staged_->memory(), request); code != 0) {
    code_ = code;
    return end({});
  }
  hidden_.store(request, std::memory_order_release);  // another thread may be in over()
}

Status PendingCall::begin() {
  try {
    work.settle();
    auto status = on_node->begin(work);
    if (status.ok()) how = on_node->plan_of(work);
    return status;
  } catch (const std::bad_alloc&) {
    return Status(Code::out_of_memory, "no memory");
  }
}

Result<bool> PendingCall::ended() {
  try {
    return on_node->ended();
  } catch (const std::bad_alloc&) {
    return Status(Code::out_of_memory, "no memory");
  }
}

void PendingCall::end(const Status& status) {
  status_ = status;
  over_.store(true, std::memory_order_release);
}

Status PendingCall::copy_out() {
  if (staged_ == nullptr || code_ != 0 || given_back_) return {};
  auto status = staged_->copy_out(-1);
  given_back_ = status.ok();
  return status;
}

bool PendingCall::over() {
  if (over_.load(std::memory_order_acquire)) return true;
  Handle request = hidden_.load(std::memory_order_acquire);
  if (request == kNoHandle) return false;
  bool done = false;
  code_ = call.mpi.done(request, done);
  hidden_.store(request, std::memory_order_release);
  if (code_ != 0 || done) end({});
  return code_ != 0 || done;
}

}  // namespace sennit::shim::mpi
