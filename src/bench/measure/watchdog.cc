#include "bench/measure/watchdog.h"

#include <utility>

namespace sennit::bench::measure {

Watchdog::Watchdog(std::chrono::milliseconds limit, std::function<void(const std::string&)> expired)
    : limit_(limit), expired_(std::move(expired)), thread_([this] { run(); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Watchdog::begin(std::string what) {
  {
    const std::lock_guard lock(mutex_);
    what_ = std::move(what);
    deadline_ = std::chrono::steady_clock::now() + limit_;
    watching_ = true;
  }
  changed_.notify_all();
}

void Watchdog::rest() {
  const std::lock_guard lock(mutex_);
  watching_ = false;
}

void Watchdog::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (!watching_) {
      changed_.wait(lock);
      continue;
    }
    changed_.wait_until(lock, deadline_);
    if (stopping_ || !watching_ || std::chrono::steady_clock::now() < deadline_) continue;
    const std::string what = what_;
    lock.unlock();
    expired_(what);
    return;
  }
}

}  // namespace sennit::bench::measure
