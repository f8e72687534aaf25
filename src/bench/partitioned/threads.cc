#include "bench/partitioned/threads.h"

#include <sys/prctl.h>

#include <cmath>
#include <ctime>

namespace sennit::bench::partitioned {

namespace {

/// Time for threads to wake up before they all begin: a default, more than a futex takes.
constexpr double kWakeUs = 100;

}  // namespace

double now_us() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return double(now.tv_sec) * 1e6 + double(now.tv_nsec) * 1e-3;
}

Threads::Threads(int count, Compute compute) : compute_(compute) {
  // Sleeps end when they should, not when the kernel would like to gather several; threads inherit it.
  if (compute == Compute::slept) (void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  for (int thread = 1; thread < count; ++thread) threads_.emplace_back([this, thread] { follow(thread); });
}

Threads::~Threads() {
  number_.store(-1);
  number_.notify_all();
  for (std::thread& each : threads_) each.join();
}

void Threads::pass(double until_us) const {
  if (compute_ == Compute::slept) {
    const double seconds = std::floor(until_us / 1e6);
    const timespec until{time_t(seconds), long((until_us - seconds * 1e6) * 1e3)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
    }
  }
  while (now_us() < until_us) {
  }
}

void Threads::work(int thread) {
  pass(round_.start_us);
  double since_us = round_.start_us;
  for (const Step& step : round_.steps[std::size_t(thread)]) {
    if (round_.needs != nullptr) {
      (*round_.needs)(step.partition);
      since_us = now_us();
    }
    if (step.compute_us > 0) pass(since_us + step.compute_us);
    // Whoever is the last to work on a partition has all that the others have written.
    if (round_.left[std::size_t(step.partition)].fetch_sub(1, std::memory_order_acq_rel) == 1 &&
        round_.ready != nullptr) {
      Partition& partition = (*round_.partitions)[std::size_t(step.partition)];
      partition.ready_us = now_us();
      const int code = (*round_.ready)(step.partition);
      partition.returned_us = now_us();
      int none = 0;
      if (code != 0) round_.code.compare_exchange_strong(none, code);
    }
    // The next compute is as long whatever this call took.
    since_us = now_us();
  }
}

void Threads::follow(int thread) {
  for (int done = 0;;) {
    number_.wait(done);
    const int number = number_.load();
    if (number < 0) return;
    if (number == done) continue;
    done = number;
    work(thread);
    if (working_.fetch_sub(1) == 1) working_.notify_all();
  }
}

Ran Threads::run(const Plan& plan, int iteration, const std::function<int(int partition)>& ready,
                 const std::function<void(int partition)>& needs) {
  Ran ran;
  ran.iteration.partitions.resize(std::size_t(plan.crew.partitions));
  round_.steps.clear();
  for (int thread = 0; thread < plan.crew.threads; ++thread)
    round_.steps.push_back(partitioned::steps(plan, iteration, thread));
  const auto counts = workers(plan, iteration);
  round_.left = std::vector<std::atomic<int>>(counts.size());
  for (std::size_t partition = 0; partition < counts.size(); ++partition)
    round_.left[partition].store(counts[partition]);
  round_.ready = ready ? &ready : nullptr;
  round_.needs = needs ? &needs : nullptr;
  round_.partitions = &ran.iteration.partitions;
  round_.code.store(0);
  const auto others = int(threads_.size());
  working_.store(others);
  round_.start_us = now_us() + (others > 0 && !needs ? kWakeUs : 0);
  if (others > 0) {
    number_.fetch_add(1);
    number_.notify_all();
  }
  work(0);
  for (int left = working_.load(); left > 0; left = working_.load())
    if (compute_ == Compute::slept) working_.wait(left);
  ran.iteration.start_us = round_.start_us;
  ran.iteration.joined_us = now_us();
  ran.code = round_.code.load();
  if (round_.ready == nullptr) ran.iteration.partitions.clear();
  return ran;
}

}  // namespace sennit::bench::partitioned
