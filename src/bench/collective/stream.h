// Times calls on a stream of the rank's GPU with graphs and events, or on a lane of the host executor.
#pragma once

#include <functional>
#include <memory>

#include "device/executor.h"

namespace sennit::bench::collective {

class Stream {
 public:
  virtual ~Stream() = default;
  virtual device::Lane& lane() = 0;
  /// cudaStream_t; null on the host executor.
  virtual void* handle() = 0;

  /// Makes `calls` calls ready to run, as one graph where that is asked for and can be. What it costs is not timed.
  virtual Status prepare(const std::function<Status()>& call, int calls, bool graph) = 0;
  /// Runs them and waits; µs from the first's start to the last's end.
  virtual Result<double> run() = 0;
  /// µs that the caller spent in the calls of the latest run; 0 where they were a graph.
  virtual double host_us() const = 0;
};

/// Errors: those of the executor.
Result<std::unique_ptr<Stream>> open_stream(device::Executor& executor, int device);
Result<std::unique_ptr<Stream>> open_cuda_stream(device::Executor& executor, int device);

}  // namespace sennit::bench::collective
