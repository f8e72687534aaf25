#include "stage/copy_queue.h"

namespace sennit::stage {

Result<std::unique_ptr<CopyQueue>> CopyQueue::create(device::Executor& executor, int device) {
  auto lane = executor.lane(device);
  if (!lane) return lane.status();
  return std::make_unique<CopyQueue>(std::move(*lane), [&executor, device] { return executor.event(device); });
}

Result<std::uint64_t> CopyQueue::copy(void* dst, const void* src, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) {
    auto event = make_event_();
    if (!event) return event.status();
    idle_.push_back(std::move(*event));
  }
  if (auto status = lane_->copy(dst, src, bytes); !status) return status;
  if (auto status = lane_->record(*idle_.back()); !status) return status;
  open_.push_back(std::move(idle_.back()));
  idle_.pop_back();
  return ++enqueued_;
}

/// Asks for the event of a copy that was not known to be done.
Result<bool> CopyQueue::passed(std::uint64_t number) {
  auto passed = open_[static_cast<std::size_t>(number - finished_ - 1)]->done();
  if (!passed.ok() || !*passed) return passed;
  for (; finished_ < number; ++finished_) {
    idle_.push_back(std::move(open_.front()));
    open_.pop_front();
  }
  return true;
}

Result<bool> CopyQueue::done(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  if (number <= finished_) return true;
  auto done = passed(number);
  if (!done.ok() || !*done) return done;
  for (std::uint64_t further = 1; finished_ + further <= enqueued_; further *= 2)
    if (const auto also = passed(finished_ + further); !also.ok() || !*also) break;  // who asks for it is told
  return true;
}

}  // namespace sennit::stage
