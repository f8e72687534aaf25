// Runs the threads of one rank through their plan: each computes and says that its partitions are ready, and when it
// did.
#pragma once

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "bench/partitioned/metrics.h"
#include "bench/partitioned/plan.h"

namespace sennit::bench::partitioned {

/// Returns µs of the clock that all processes of a node share (CLOCK_MONOTONIC).
double now_us();

/// Says how a thread spends the time that it computes. Slept, threads that have no core each do not slow each other
/// down.
enum class Compute { spun, slept };

/// Holds what the threads did. The partitions' arrivals are not known here.
struct Ran {
  Iteration iteration;
  int code = 0;  ///< the first one that is not 0 of those that ready() returned
};

/// The caller is the first of the threads; the others wait between iterations. Not to be used by two threads at once.
class Threads {
 public:
  Threads(int count, Compute compute);
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  /// Runs one iteration, all threads from the same moment on. `ready`: says that a partition is ready, in whatever
  /// thread works on it; null where the message is sent whole afterwards. `needs`: waits for what a partition's
  /// compute needs, in each thread that works on it and before that computes; then threads begin as they wake up.
  /// `plan.crew.threads` is `count`.
  Ran run(const Plan& plan, int iteration, const std::function<int(int partition)>& ready,
          const std::function<void(int partition)>& needs = {});

 private:
  struct Round {
    std::vector<std::vector<Step>> steps;  ///< by thread
    std::vector<std::atomic<int>> left;    ///< by partition: threads that have not done with it
    const std::function<int(int)>* ready = nullptr;
    const std::function<void(int)>* needs = nullptr;
    double start_us = 0;
    std::vector<Partition>* partitions = nullptr;
    std::atomic<int> code{0};
  };
  void work(int thread);
  void follow(int thread);
  void pass(double until_us) const;

  const Compute compute_;
  Round round_;
  std::atomic<int> number_{0};   // of the round; below 0: there is none any more
  std::atomic<int> working_{0};  // threads beside the caller
  std::vector<std::thread> threads_;
};

}  // namespace sennit::bench::partitioned
