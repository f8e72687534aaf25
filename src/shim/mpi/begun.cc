#include "shim/mpi/begun.h"

#include <new>

#include "shim/mpi/one_node.h"

namespace sennit::shim::mpi {

void Begun::call_real() {
  try {
    auto made = make_shadows_(call);
    if (!made) return end(made.status());
    shadows_ = std::move(*made);
  } catch (const std::bad_alloc&) {  // in whatever call of MPI its turn comes
    return end(Status(Code::out_of_memory, "no memory"));
  }
  Handle request = kNoHandle;
  if (const int code = real(shadows_->memory(), request); code != 0) {
    code_ = code;
    return end({});
  }
  hidden_.store(request, std::memory_order_release);  // another thread may be in over()
}

Status Begun::begin() {
  try {
    work.settle();
    auto status = on_node->begin(work);
    if (status.ok()) how = on_node->plan_of(work);
    return status;
  } catch (const std::bad_alloc&) {
    return Status(Code::out_of_memory, "no memory");
  }
}

Result<bool> Begun::ended() {
  try {
    return on_node->ended();
  } catch (const std::bad_alloc&) {
    return Status(Code::out_of_memory, "no memory");
  }
}

void Begun::end(const Status& status) {
  status_ = status;
  over_.store(true, std::memory_order_release);
}

Status Begun::give_back() {
  if (shadows_ == nullptr || code_ != 0 || given_back_) return {};
  auto status = shadows_->give_back(-1);
  given_back_ = status.ok();
  return status;
}

bool Begun::over() {
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
