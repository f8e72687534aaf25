#include "stage/gpus.h"

#include <algorithm>
#include <limits>
#include <thread>

#include <fmt/format.h>

#include "device/launch.h"
#include "stage/strided_copy.h"

namespace sennit::stage {

Gpus::Gpus(std::shared_ptr<device::Executor> executor, std::chrono::microseconds linger)
    : executor_(std::move(executor)),
      linger_(linger),
      // A thread for each block is what emulation has, and 0.1 ms for it.
      most_blocks_(executor_->kind() == device::Kind::host ? std::max(1U, std::thread::hardware_concurrency())
                                                           : std::numeric_limits<unsigned>::max()) {}

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

SmallCopies& Gpus::small_of(int device) {
  const std::lock_guard lock(mutex_);
  auto& small = small_[device];
  if (small == nullptr) small = std::make_unique<SmallCopies>(executor_, device, linger_);
  return *small;
}

Status Gpus::to_host(void* host, const void* gpu, std::uint64_t bytes, const MemInfo& held) {
  if (held.sync_memops && bytes <= SmallCopies::kMostToHost)
    if (const auto done = small_of(held.device).to_host(host, gpu, bytes); !done || *done) return done.status();
  return copy(host, gpu, bytes, held.device);
}

Status Gpus::to_gpu(void* gpu, const void* host, std::uint64_t bytes, const MemInfo& held) {
  if (held.sync_memops && bytes <= SmallCopies::kMostToGpu)
    if (const auto done = small_of(held.device).to_gpu(gpu, host, bytes); !done || *done) return done.status();
  return copy(gpu, host, bytes, held.device);
}

Status Gpus::to_host(std::span<const SmallCopies::Piece> pieces, int device) {
  return on_lane(device, [&](device::Lane& lane) -> Status {
    for (const auto& piece : pieces)
      if (auto status = lane.copy(const_cast<void*>(piece.host), piece.gpu, piece.bytes); !status) return status;
    return {};
  });
}

Status Gpus::to_gpu(std::span<const SmallCopies::Piece> pieces, const MemInfo& held) {
  while (held.sync_memops && !pieces.empty()) {
    const std::size_t count = SmallCopies::together(pieces);
    const auto done = small_of(held.device).to_gpu(pieces.first(count));
    if (!done) return done.status();
    if (!*done) break;
    pieces = pieces.subspan(count);
  }
  if (pieces.empty()) return {};
  return on_lane(held.device, [&](device::Lane& lane) -> Status {
    for (const auto& piece : pieces)
      if (auto status = lane.copy(piece.gpu, piece.host, piece.bytes); !status) return status;
    return {};
  });
}

Status Gpus::copy_strided(std::byte* dst, const std::byte* src, const Strided& rows, std::uint64_t most, int device) {
  if (most == 0) return {};
  const StridedCopy copy{dst, src, rows, most};
  return on_lane(device, [&](device::Lane& lane) {
    return device::launch(lane, copy, std::min(copy.blocks(), most_blocks_), copy.threads());
  });
}

Status Gpus::copy_segments(const SegmentCopy& copy, std::uint64_t bytes, int device) {
  const std::uint64_t pieces = copy.count * copy.times;
  if (pieces == 0) return {};
  return on_lane(device, [&](device::Lane& lane) {
    return device::launch(lane, copy, std::min(copy.blocks(), most_blocks_), SegmentCopy::threads(bytes / pieces));
  });
}

Status Gpus::still_held(const void* gpu, int device) const {
  if (executor_->holder(gpu) == device) return {};
  return Status(Code::invalid_argument, fmt::format("GPU memory at {} was freed while a request used it", gpu), {},
                "Free it when the request is over");
}

bool Gpus::in_one(const void* gpu, std::uint64_t bytes) const {
  const auto location = executor_->describe(gpu, bytes);
  if (!location.ok() || location->base == nullptr || location->bytes == 0) return true;  // nothing says otherwise
  return static_cast<const std::byte*>(gpu) + bytes <= location->base + location->bytes;
}

Status Gpus::copy(void* dst, const void* src, std::uint64_t bytes) {
  const int to = executor_->holder(dst).value_or(-1), from = executor_->holder(src).value_or(-1);
  return copy(dst, src, bytes, std::max({to, from, 0}));
}

Status Gpus::copy(void* dst, const void* src, std::uint64_t bytes, int device) {
  if (bytes == 0) return {};
  return on_lane(device, [&](device::Lane& lane) { return lane.copy(dst, src, bytes); });
}

}  // namespace sennit::stage
