#include "shim/nccl/windows.h"

#include <utility>

namespace sennit::shim::nccl {

Status SymmetricWindows::open(void* data, std::uint64_t bytes, WindowHandle handle) {
  unmap_closed();
  // What NCCL gives no handle for, the program cannot give up: then this is no window for any rank.
  if (handle == nullptr) bytes = 0;
  auto window = registry_.open(bytes != 0 ? data : nullptr, bytes);
  if (!window) return window.status();  // so no rank gets further than this
  bool used = false;
  if ((*window)->outlives_owners()) {
    auto status = collectives_.use(*window);
    if (!status.ok() && status.code() != Code::invalid_argument) {
      // It was not heard whether all ranks will use it: calls of those that do would never complete.
      node_.group().abort(status);
      return status;
    }
    used = bytes != 0 && collectives_.uses(**window);
  }
  if (!used) {
    if (auto status = registry_.close(*window); !status) return status;
    return Status(Code::unsupported,
                  "it is not of cuMemCreate, or cannot be mapped, or is not as long, on every rank", {},
                  "Allocate it with ncclMemAlloc");
  }
  const std::lock_guard lock(mutex_);
  open_.emplace(handle, std::move(*window));
  return {};
}

void SymmetricWindows::close(WindowHandle handle) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(handle);
    if (found == open_.end()) return;
    collectives_.forget(*found->second);
    closed_.push_back(std::move(found->second));
    open_.erase(found);
  }
  unmap_closed();
}

void SymmetricWindows::unmap_closed() {
  // A graph may run, now or later.
  if (collectives_.has_graphs()) return;
  if (const auto idle = collectives_.idle(); idle.ok() && !*idle) return;
  const std::lock_guard lock(mutex_);
  for (const auto& window : std::exchange(closed_, {})) registry_.forget(window);
}

void SymmetricWindows::unmap() {
  const std::lock_guard lock(mutex_);
  for (const auto& [handle, window] : std::exchange(open_, {})) {
    collectives_.forget(*window);
    closed_.push_back(window);
  }
  for (const auto& window : std::exchange(closed_, {})) registry_.forget(window);
}

bool SymmetricWindows::any() const {
  const std::lock_guard lock(mutex_);
  return !open_.empty();
}

}  // namespace sennit::shim::nccl
