#include "device/host/lane.h"

#include <cstring>
#include <vector>

#include "device/fault.h"
#include "device/host/block.h"

namespace sennit::device {

Limits HostLimits::next() {
  const std::lock_guard lock(mutex);
  Limits copy = limits;
  copy.abort = &abort;
  copy.fault = &fault;
  copy.sequence = ++sequence;
  return copy;
}

Result<bool> HostEvent::done() {
  const std::lock_guard lock(state_->mutex);
  return state_->passed >= state_->recorded;
}

Result<double> HostEvent::since(Event& start) {
  State& first = *static_cast<HostEvent&>(start).state_;
  const auto began = [&] {
    const std::lock_guard lock(first.mutex);
    return first.passed_at;
  }();
  const std::lock_guard lock(state_->mutex);
  if (state_->passed == 0) return Status(Code::invalid_argument, "time asked of an event that was not passed");
  return std::chrono::duration<double, std::micro>(state_->passed_at - began).count();
}

namespace {
std::atomic<std::uint64_t> lanes{0};
}

HostLane::HostLane(int device, std::shared_ptr<HostLimits> limits)
    : device_(device), stream_(++lanes), limits_(std::move(limits)), thread_([this] { run(); }) {}

HostLane::~HostLane() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();  // after the queue has drained: work already given is never lost
}

void HostLane::push(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
  }
  changed_.notify_all();
}

void HostLane::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    auto work = std::move(queue_.front());
    queue_.pop_front();
    busy_ = true;
    lock.unlock();
    work();
    work = nullptr;  // what it captured is gone before anyone sees the lane idle
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

Status HostLane::copy(void* dst, const void* src, std::uint64_t bytes) {
  if (bytes != 0) push([=] { std::memmove(dst, src, bytes); });
  return {};
}

Status HostLane::post(Word* there, const Word* here) {
  push([=] {
    tell_others();
    std::atomic_ref(*there).store(*here, std::memory_order_release);
  });
  return {};
}

Status HostLane::signal(Word* there, Word value) {
  push([=] {
    tell_others();
    std::atomic_ref(*there).store(value, std::memory_order_release);
  });
  return {};
}

Status HostLane::launch(const Program& program, const void* arguments, unsigned blocks, unsigned) {
  const auto* first = static_cast<const std::byte*>(arguments);
  auto held = std::make_shared<std::vector<std::byte>>(first, first + program.argument_bytes);
  push([held, blocks, entry = program.host, limits = limits_->next()] {
    std::vector<std::jthread> threads;
    for (unsigned b = 0; b < blocks; ++b)
      threads.emplace_back([&, b] {
        HostBlock block(b, blocks, limits);
        entry(block, held->data());
      });
  });
  return {};
}

Status HostLane::record(Event& event) {
  const auto state = static_cast<HostEvent&>(event).state_;
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(state->mutex);
    number = ++state->recorded;
  }
  push([state, number] {
    const std::lock_guard lock(state->mutex);
    // Two lanes may record the same event; the later record is the one that counts.
    if (number > state->passed) state->passed = number;
    state->passed_at = std::chrono::steady_clock::now();
    state->changed.notify_all();
  });
  return {};
}

Status HostLane::wait(Event& event) {
  const auto state = static_cast<HostEvent&>(event).state_;
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(state->mutex);
    number = state->recorded;
  }
  push([state, number] {
    std::unique_lock lock(state->mutex);
    state->changed.wait(lock, [&] { return state->passed >= number; });
  });
  return {};
}

Status HostLane::synchronize() {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return queue_.empty() && !busy_; });
  }
  return sennit::device::describe(limits_->fault);
}

Result<bool> HostLane::idle() {
  const std::lock_guard lock(mutex_);
  return queue_.empty() && !busy_;
}

}  // namespace sennit::device
