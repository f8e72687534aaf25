// Times calls on a lane of the rank's device: one by one, or as one graph where the executor has graphs.
#pragma once

#include <functional>
#include <memory>

#include "device/executor.h"

namespace sennit::bench::collective {

class Stream {
 public:
  /// Errors: those of the executor.
  static Result<std::unique_ptr<Stream>> open(device::Executor& executor, int device);

  device::Lane& lane() { return *lane_; }
  /// Returns the cudaStream_t; null on the host executor.
  void* handle() { return lane_->native(); }

  /// Makes `calls` calls ready to run, as one graph where that is asked for and can be. What it costs is not timed.
  Status prepare(std::function<Status()> call, int calls, bool graph);
  /// Runs them and waits; µs from the first's start to the last's end.
  Result<double> run();
  /// µs that the caller spent in the calls of the latest run; 0 where they were a graph.
  double host_us() const { return host_us_; }

 private:
  explicit Stream(device::Executor& executor) : has_graphs_(executor.kind() == device::Kind::cuda) {}
  Status enqueue();

  const bool has_graphs_;
  std::unique_ptr<device::Lane> lane_;
  std::unique_ptr<device::Event> begin_, end_;
  std::unique_ptr<device::Graph> graph_;
  std::function<Status()> call_;
  int calls_ = 0;
  double host_us_ = 0;
};

}  // namespace sennit::bench::collective
