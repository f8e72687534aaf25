#include "shim/mpi/begun.h"

#include "shim/mpi/one_node.h"

namespace sennit::shim::mpi {

void Begun::call_real() {
  auto made = make_shadows_(call);
  if (!made) return end(made.status());
  shadows_ = std::move(*made);
  code_ = real(shadows_->memory(), hidden_);
  if (code_ != 0) end({});
}

Status Begun::begin() {
  work.settle();
  auto status = on_node->begin(work);
  if (status.ok()) how = on_node->plan_of(work);
  return status;
}

Result<bool> Begun::ended() {
  return on_node->ended();
}

void Begun::end(const Status& status) {
  status_ = status;
  over_.store(true, std::memory_order_release);
}

bool Begun::over() {
  if (over_.load(std::memory_order_acquire)) return true;
  if (hidden_ == kNoHandle) return false;
  bool done = false;
  code_ = call.mpi.done(hidden_, done);
  if (code_ != 0 || done) end({});
  return code_ != 0 || done;
}

}  // namespace sennit::shim::mpi
