#include "msg/copy_batch.h"

#include <utility>

#include "msg/copy_scheduler.h"

namespace sennit::msg {

namespace {

thread_local CopyBatch* collecting = nullptr;

/// A GPU is asked so often whether it still does what it was given: a default. The question takes a microsecond.
constexpr std::chrono::milliseconds kAskLane{1};

}  // namespace

CopyBatch::CopyBatch() {
  if (collecting == nullptr) collecting = this;
}

CopyBatch::~CopyBatch() {
  if (collecting != this) return;
  collecting = nullptr;
  if (!all_.empty()) by_->begin(all_);
}

CopyBatch* CopyBatch::current() {
  return collecting;
}

void CopyBatch::add(CopyScheduler& by, One one) {
  if (by_ != nullptr && by_ != &by) by_->begin(std::exchange(all_, {}));
  by_ = &by;
  all_.push_back(std::move(one));
}

bool InFlight::has_kernel() {
  const std::lock_guard lock(mutex_);
  return launch_ != nullptr;
}

Status InFlight::look() {
  const std::lock_guard lock(mutex_);
  if (launch_ != nullptr) return launch_->look();
  if (lane_ == nullptr) return {};
  const auto now = BatchedCopy::Clock::now();
  if (now - looked_ < kAskLane) return {};
  looked_ = now;
  return lane_->idle().status();
}

}  // namespace sennit::msg
