#include "shim/mpi/gpus.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/units.h"

namespace sennit::shim::mpi {

Result<std::unique_ptr<device::Lane>> Gpus::take(int device) {
  {
    const std::lock_guard lock(mutex_);
    auto& idle = idle_[device];
    if (!idle.empty()) {
      auto lane = std::move(idle.back());
      idle.pop_back();
      return lane;
    }
  }
  return executor_->lane(device);
}

void Gpus::give(int device, std::unique_ptr<device::Lane> lane) {
  const std::lock_guard lock(mutex_);
  idle_[device].push_back(std::move(lane));
}

Status Gpus::copy(void* dst, const void* src, std::uint64_t bytes) {
  if (bytes == 0) return {};
  const int to = executor_->holder(dst).value_or(-1), from = executor_->holder(src).value_or(-1);
  const int device = std::max({to, from, 0});
  auto lane = take(device);
  if (!lane) return lane.status();
  if (auto status = (*lane)->copy(dst, src, bytes); !status) return status;
  if (auto status = (*lane)->synchronize(); !status) return status;
  give(device, std::move(*lane));
  return {};
}

Result<device::Memory> HostMemory::take(std::uint64_t bytes) {
  if (bytes > kLargestPinned) {
    void* const data =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED)
      return Status(Code::out_of_memory,
                    fmt::format("no {} of host memory: {}", format_bytes(bytes), strerror(errno)));
    return device::Memory(data, bytes, [bytes](void* at) { munmap(at, bytes); });
  }
  const std::uint64_t rounded = std::bit_ceil(std::max<std::uint64_t>(bytes, 4096));
  {
    const std::lock_guard lock(mutex_);
    auto& kept = kept_[rounded];
    if (!kept.empty()) {
      auto memory = std::move(kept.back());
      kept.pop_back();
      return memory;
    }
  }
  return executor_->allocate_pinned(rounded);
}

void HostMemory::give(device::Memory memory) {
  if (memory.bytes() > kLargestPinned || memory.data() == nullptr) return;
  const std::lock_guard lock(mutex_);
  auto& kept = kept_[memory.bytes()];
  if (kept.size() < kMostKept) kept.push_back(std::move(memory));
}

}  // namespace sennit::shim::mpi
