#include "stage/pinned_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/units.h"

namespace sennit::stage {

namespace {

Result<device::Memory> fresh(std::uint64_t bytes) {
  void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED)
    return Status(Code::out_of_memory, fmt::format("no {} of host memory: {}", format_bytes(bytes), strerror(errno)));
  return device::Memory(data, bytes, [bytes](void* at) { munmap(at, bytes); });
}

}  // namespace

std::uint64_t PinnedPool::rounded(std::uint64_t bytes) {
  constexpr std::uint64_t kStep = 4 << 20;
  if (bytes <= kStep) return std::bit_ceil(std::max<std::uint64_t>(bytes, 4096));
  return (bytes + kStep - 1) / kStep * kStep;
}

Result<device::Memory> PinnedPool::acquire(std::uint64_t bytes, Use use) {
  if (bytes <= (use == Use::certain ? kLargest : kLargestPerhaps)) {
    const std::uint64_t size = rounded(bytes);
    {
      const std::lock_guard lock(mutex_);
      // Up to twice as large serves too, if there is no better.
      const auto found = kept_.lower_bound(size);
      if (found != kept_.end() && found->first <= 2 * size) {
        device::Memory memory = std::move(found->second.back());
        found->second.pop_back();
        if (found->second.empty()) kept_.erase(found);
        bytes_kept_ -= memory.bytes();
        return memory;
      }
    }
    if (auto made = executor_->allocate_pinned(size)) return made;
    // A limit of locked memory, perhaps: slower, and as good.
  }
  const std::lock_guard lock(mutex_);
  Result<device::Memory> piece = Status();
  if (const auto found = hardly_written_.lower_bound(bytes); found != hardly_written_.end()) {
    piece = std::move(found->second);
    hardly_written_.erase(found);
  } else {
    piece = fresh(bytes);
  }
  if (piece.ok()) fresh_.insert(piece->data());
  return piece;
}

bool PinnedPool::is_pinned(const device::Memory& memory) {
  const std::lock_guard lock(mutex_);
  return !fresh_.contains(memory.data());
}

void PinnedPool::release(device::Memory memory, std::uint64_t written) {
  if (memory.data() == nullptr) return;
  const std::lock_guard lock(mutex_);
  if (fresh_.erase(memory.data()) != 0) {
    const bool kept = written <= kHardly && hardly_written_.size() < kMostHardlyWritten;
    if (kept) hardly_written_.emplace(memory.bytes(), std::move(memory));
    return;
  }
  if (bytes_kept_ + memory.bytes() > kMostKept) return;
  bytes_kept_ += memory.bytes();
  kept_[memory.bytes()].push_back(std::move(memory));
}

}  // namespace sennit::stage
