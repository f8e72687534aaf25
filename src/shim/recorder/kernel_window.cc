#include "shim/recorder/kernel_window.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include <fmt/format.h>

#include "base/environment.h"
#include "shim/recorder/gpu_driver.h"

namespace sennit::shim::recorder {

namespace {

class KernelWindow {
 public:
  KernelTimes* now(profile::Recorder& recorder) {
    if (const State state = state_.load(std::memory_order_acquire); state == State::open) {
      if (recorder.now() < next_.load(std::memory_order_relaxed)) return times_.get();
    } else if (state == State::over) {
      return nullptr;
    }
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock.owns_lock()) step(recorder);
    return state_.load(std::memory_order_relaxed) == State::open ? times_.get() : nullptr;
  }

  void pause(profile::Recorder& recorder, bool paused) {
    const std::lock_guard lock(mutex_);
    if (state_ != State::open) return;
    times_->pause(paused);
    if (!paused) end_pause(recorder);
    if (paused && paused_at_ == 0) paused_at_ = recorder.now();
  }

  void finish(profile::Recorder& recorder) {
    const std::lock_guard lock(mutex_);
    if (state_ == State::open) close(recorder);
    if (state_ == State::closing) end(recorder);
  }

 private:
  enum class State { waiting, open, closing, over };

  static std::uint64_t ticks(const profile::Recorder& recorder, double seconds) {
    return static_cast<std::uint64_t>(seconds * 1e9 / recorder.header().ns_per_tick.load(std::memory_order_relaxed));
  }

  void step(profile::Recorder& recorder) {
    const std::uint64_t now = recorder.now();
    switch (state_.load(std::memory_order_relaxed)) {
      case State::waiting: return begin(recorder);
      case State::open:
        if (now >= closes_at_) return close(recorder);
        times_->settle(recorder);
        recorder.header().kernels_end.store(now, std::memory_order_relaxed);
        return next(recorder);
      case State::closing:
        if (now >= next_.load(std::memory_order_relaxed)) end(recorder);
        return;
      case State::over: return;
    }
  }

  void next(const profile::Recorder& recorder) {
    next_.store(std::min(recorder.now() + ticks(recorder, kEvery), closes_at_), std::memory_order_relaxed);
  }

  void begin(profile::Recorder& recorder) {
    constexpr int kTries = 100;
    if (!GpuDriver::of_process()) {
      if (++tries_ >= kTries) refuse(recorder, "the program uses no CUDA driver");
      return;
    }
    const auto seconds = environment_integer("SENNIT_PROFILE_KERNELS");
    auto cupti = Cupti::of_process();
    if (!cupti) return refuse(recorder, cupti.status().text());
    auto made = KernelTimes::begin(*cupti);
    if (!made) return refuse(recorder, made.status().text());
    times_ = std::move(*made);  // as long as the process: CUPTI's thread may be about to call it
    const std::uint64_t now = recorder.now();
    if (seconds.ok() && *seconds > 0) closes_at_ = now + ticks(recorder, static_cast<double>(*seconds));
    recorder.header().gpu_times = profile::GpuTimes::kernel;
    recorder.header().kernels_begin.store(now, std::memory_order_relaxed);
    next(recorder);
    state_.store(State::open, std::memory_order_release);
    std::atexit([] { finish_kernels(); });
  }

  void refuse(profile::Recorder& recorder, const std::string& why) {
    std::fputs(fmt::format("sennit: kernels are not collected: {}\n", why).c_str(), stderr);
    profile::set(recorder.header().kernels_refused, why);
    the_process.kernels_refused.store(true, std::memory_order_relaxed);
    if (GpuDriver::of_process()) recorder.header().gpu_times = profile::GpuTimes::sampled;
    state_.store(State::over, std::memory_order_release);
    the_process.collects_kernels.store(false, std::memory_order_relaxed);
  }

  void end_pause(profile::Recorder& recorder) {
    if (paused_at_ == 0) return;
    recorder.header().kernels_paused.fetch_add(recorder.now() - paused_at_, std::memory_order_relaxed);
    paused_at_ = 0;
  }

  /// Kernels that were enqueued before may still run for a while.
  void close(profile::Recorder& recorder) {
    times_->close();
    end_pause(recorder);
    recorder.header().kernels_end.store(recorder.now(), std::memory_order_relaxed);
    next_.store(recorder.now() + ticks(recorder, kEvery), std::memory_order_relaxed);
    state_.store(State::closing, std::memory_order_release);
  }

  void end(profile::Recorder& recorder) {
    times_->finish(recorder);
    state_.store(State::over, std::memory_order_release);
    the_process.collects_kernels.store(false, std::memory_order_relaxed);
  }

  static void finish_kernels();

  static constexpr double kEvery = 1;  ///< second

  std::atomic<State> state_{State::waiting};
  std::atomic<std::uint64_t> next_{0};  ///< when there is something to do, by the recorder's clock
  std::mutex mutex_;                    ///< of all below; who does not get it goes on
  std::uint64_t paused_at_ = 0;         ///< 0: it is not
  std::uint64_t closes_at_ = ~std::uint64_t{0};
  int tries_ = 0;
  std::unique_ptr<KernelTimes> times_;
};

/// Never destroyed, as the recorder.
KernelWindow& window() {
  static auto* const made = new KernelWindow;
  return *made;
}

void KernelWindow::finish_kernels() {
  if (profile::Recorder* const last = current_profile()) window().finish(*last);
}

}  // namespace

void pause_kernels(profile::Recorder& recorder, bool paused) {
  window().pause(recorder, paused);
}

KernelTimes* kernels_now(profile::Recorder& recorder) {
  return window().now(recorder);
}

}  // namespace sennit::shim::recorder
