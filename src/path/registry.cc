#include "path/registry.h"

#include <fmt/format.h>

namespace sennit::path {

Result<std::shared_ptr<Window>> Registry::open(void* data, std::uint64_t bytes) {
  std::uint32_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = next_++;
  }
  auto window = Window::create(node_.group(), node_.executor(), mappings_, node_.device(), number, data, bytes);
  if (!window) return window.status();
  const std::shared_ptr<Window> opened = std::move(*window);
  {
    const std::lock_guard lock(mutex_);
    windows_[number] = opened;
  }
  // No peer may put before this rank's service knows the window.
  if (auto status = node_.group().exchange().barrier(); !status) return status;
  return opened;
}

Status Registry::close(const std::shared_ptr<Window>& window) {
  Status status = node_.group().exchange().barrier();
  forget(window);
  // The owner of the memory may free it after this call, and must not while a peer has it mapped.
  if (status.ok()) status = node_.group().exchange().barrier();
  return std::move(status).in("deregister memory");
}

void Registry::forget(const std::shared_ptr<Window>& window) {
  {
    const std::lock_guard lock(mutex_);
    windows_.erase(window->number());
  }
  window->unmap();
}

Result<std::byte*> Registry::resolve(std::uint32_t window, std::uint64_t offset, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = windows_.find(window);
  if (found == windows_.end())
    return Status(Code::not_found, fmt::format("window {} is not open on rank {}", window, node_.rank()), {},
                  "Close a window only after all transfers to it are done");
  const std::uint64_t size = found->second->bytes(node_.rank());
  if (offset > size || bytes > size - offset)
    return Status(Code::invalid_argument, "a peer's message reaches beyond the window");
  return found->second->data() + offset;
}

}  // namespace sennit::path
