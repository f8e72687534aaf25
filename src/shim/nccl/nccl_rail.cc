#include "shim/nccl/nccl_rail.h"

#include <fmt/format.h>

#include "shim/nccl/translate.h"

namespace sennit::shim::nccl {

Status NcclRail::all_reduce(std::byte* data, std::uint64_t bytes, const device::Reduction& reduction) {
  const auto type = number_of(reduction.type);
  const auto op = number_of(reduction.op);
  std::unique_lock lock(mutex_);
  const Comm comm = comm_;
  lock.unlock();  // an abort ends the call
  if (!type || !op || comm == nullptr)
    return Status(Code::unsupported, "NCCL has no such sum between nodes", {}, "Leave the call to NCCL");
  if (emulated_)
    if (auto status = lane_->synchronize(); !status) return status;
  auto* const stream = static_cast<Stream>(lane_->native());
  const int code = nccl_.all_reduce(data, data, bytes / device::bytes_of(reduction.type), *type, *op, comm, stream);
  if (code == kSuccess) return {};
  return Status(Code::device_error, fmt::format("NCCL between nodes: error {}", code), {},
                "NCCL_DEBUG=INFO says more");
}

Status NcclRail::check() const {
  const std::lock_guard lock(mutex_);
  int error = kSuccess;
  if (comm_ == nullptr || nccl_.comm_get_async_error(comm_, &error) != kSuccess) return {};
  if (error == kSuccess || error == kInProgress) return {};
  return Status(Code::device_error, fmt::format("NCCL between nodes: error {}", error), {},
                "NCCL_DEBUG=INFO says more");
}

void NcclRail::end(bool in_order) {
  std::unique_lock lock(mutex_);
  const Comm comm = std::exchange(comm_, nullptr);
  lock.unlock();
  if (comm == nullptr) return;
  (void)(in_order ? nccl_.comm_destroy(comm) : nccl_.comm_abort(comm));
}

}  // namespace sennit::shim::nccl
