#include "shim/mpi/host_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/units.h"

namespace sennit::shim::mpi {

namespace {

Result<device::Memory> fresh(std::uint64_t bytes) {
  void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED)
    return Status(Code::out_of_memory, fmt::format("no {} of host memory: {}", format_bytes(bytes), strerror(errno)));
  return device::Memory(data, bytes, [bytes](void* at) { munmap(at, bytes); });
}

}  // namespace

Result<device::Memory> HostMemory::take(std::uint64_t bytes, Use use) {
  if (bytes <= kSmall) return take_small(bytes);
  if (use == Use::certain && bytes <= kLargestPinned)
    if (device::Memory large = take_large(bytes); large.data() != nullptr) return large;
  return fresh(bytes);
}

Result<device::Memory> HostMemory::take_small(std::uint64_t bytes) {
  const std::uint64_t rounded = std::bit_ceil(std::max<std::uint64_t>(bytes, 4096));
  {
    const std::lock_guard lock(mutex_);
    auto& kept = small_[rounded];
    if (!kept.empty()) {
      auto memory = std::move(kept.back());
      kept.pop_back();
      return memory;
    }
  }
  return executor_->allocate_pinned(rounded);
}

device::Memory HostMemory::take_large(std::uint64_t bytes) {
  const std::uint64_t rounded = (bytes + kSmall - 1) / kSmall * kSmall;
  {
    const std::lock_guard lock(mutex_);
    auto best = large_.end();
    for (auto one = large_.begin(); one != large_.end(); ++one)
      if (one->bytes() >= rounded && one->bytes() <= 2 * rounded &&
          (best == large_.end() || one->bytes() < best->bytes()))
        best = one;
    if (best != large_.end()) {
      device::Memory memory = std::move(*best);
      large_.erase(best);
      return memory;
    }
  }
  auto made = executor_->allocate_pinned(rounded);
  if (!made) return {};  // a limit of locked memory: slower, and as good
  const std::lock_guard lock(mutex_);
  pinned_.insert(made->data());
  return std::move(*made);
}

void HostMemory::give(device::Memory memory) {
  if (memory.data() == nullptr) return;
  std::list<device::Memory> dropped;  // freed when the mutex is not held
  const std::lock_guard lock(mutex_);
  if (memory.bytes() <= kSmall) {
    auto& kept = small_[memory.bytes()];
    if (kept.size() < kMostKept) kept.push_back(std::move(memory));
    return;
  }
  if (!pinned_.contains(memory.data())) return;
  large_.push_back(std::move(memory));
  std::uint64_t all = 0;
  for (const device::Memory& one : large_) all += one.bytes();
  while (all > kMostBytesKept) {
    all -= large_.front().bytes();
    pinned_.erase(large_.front().data());
    dropped.splice(dropped.end(), large_, large_.begin());
  }
}

}  // namespace sennit::shim::mpi
