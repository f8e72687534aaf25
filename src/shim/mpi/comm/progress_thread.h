// Runs a thread that moves on what does not need the program: it sleeps while there is nothing.
#pragma once

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "base/thread.h"

namespace sennit::shim::mpi {

class ProgressThread {
 public:
  /// `move`: moves on what can be, and whether anything is left to move.
  explicit ProgressThread(std::function<bool()> move) : move_(std::move(move)) {}
  ~ProgressThread() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    woken_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  /// There is something to move. Where no thread can be had, the program's own calls move it alone.
  void wake() {
    {
      const std::lock_guard lock(mutex_);
      if (!thread_.joinable())
        if (auto started = start_thread([this] { run(); })) thread_ = std::move(*started);
      wanted_ = true;
    }
    woken_.notify_all();
  }

 private:
  /// The thread waits between two looks: at first it only yields to others, then it waits longer and longer.
  /// Defaults: at most a tenth of a percent of a processor, and no rank waits long for one that computes.
  static constexpr int kSpins = 100;
  static constexpr std::chrono::microseconds kFirstNap{20}, kLongestNap{1000};

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      woken_.wait(lock, [this] { return wanted_ || stopping_; });
      wanted_ = false;
      auto nap = kFirstNap;
      for (int looks = 0; !stopping_; ++looks) {
        lock.unlock();
        bool left = true;
        try {
          left = move_();
        } catch (const std::bad_alloc&) {  // a later look, or the program's calls, which may fail
          looks = std::max(looks, kSpins);
        }
        if (left && looks < kSpins) sched_yield();
        lock.lock();
        if (!left) break;
        if (looks < kSpins) continue;
        woken_.wait_for(lock, nap, [this] { return wanted_ || stopping_; });
        if (std::exchange(wanted_, false)) looks = 0;
        nap = looks == 0 ? kFirstNap : std::min(2 * nap, kLongestNap);
      }
      if (stopping_) return;
    }
  }

  const std::function<bool()> move_;
  std::mutex mutex_;
  std::condition_variable woken_;
  bool wanted_ = false, stopping_ = false;
  std::thread thread_;
};

}  // namespace sennit::shim::mpi
