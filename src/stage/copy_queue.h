// Enqueues copies that one lane does in their order, and says how far it has come with them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "device/executor.h"

namespace sennit::stage {

/// Thread-safe.
class CopyQueue {
 public:
  using MakeEvent = std::function<Result<std::unique_ptr<device::Event>>()>;

  /// Makes a queue on a lane of its own. Errors: those of the device. `executor` outlives it.
  static Result<std::unique_ptr<CopyQueue>> create(device::Executor& executor, int device);
  CopyQueue(std::unique_ptr<device::Lane> lane, MakeEvent make_event)
      : lane_(std::move(lane)), make_event_(std::move(make_event)) {}

  /// Enqueues a copy as Lane::copy; its number, from 1. Errors: those of the device; it may be done all the same.
  Result<std::uint64_t> copy(void* dst, const void* src, std::uint64_t bytes);

  /// Returns whether the copy with this number is done, and with it all before. Never blocks. Errors: those of the
  /// device. The driver takes over a microsecond to say that an event was passed (H200): after one that was, the next
  /// one asked for is twice as far behind it, and not each between.
  Result<bool> done(std::uint64_t number);

 private:
  Result<bool> passed(std::uint64_t number);

  const std::unique_ptr<device::Lane> lane_;
  const MakeEvent make_event_;
  std::mutex mutex_;
  std::uint64_t enqueued_ = 0, finished_ = 0;
  std::deque<std::unique_ptr<device::Event>> open_;  // of the copies behind `finished_`
  std::vector<std::unique_ptr<device::Event>> idle_;
};

}  // namespace sennit::stage
