// Implements a lane of the cuda executor: a stream, owned or the caller's.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <span>

#include "device/block.h"
#include "device/cuda/kernel.h"
#include "device/lane.h"

namespace sennit::device {

/// Holds what launches of one executor share. `abort` and `fault` lie in pinned host memory, so that the host can
/// raise the one and read the other while kernels run.
struct CudaLimits {
  std::atomic<std::uint64_t> timeout_ns{30'000'000'000};
  Word* abort = nullptr;
  Fault* fault = nullptr;
  std::atomic<Word> sequence{0};
  /// Is false where no launch may start early: kernels that were compiled for GPUs before Hopper do not wait by
  /// themselves, and SENNIT_EARLY=0 forbids it.
  std::atomic<bool> early;
  const std::span<const Kernel> kernels;  ///< that can be launched

  explicit CudaLimits(std::span<const Kernel> launchable);
  ~CudaLimits();
  CudaLimits(const CudaLimits&) = delete;
  CudaLimits& operator=(const CudaLimits&) = delete;
  Limits next();
};

/// Threads that an early launch may have on `device`; 0: it has to start late (Hopper and a driver of CUDA 12.3).
unsigned most_early_threads(int device);

class CudaEvent final : public Event {
 public:
  explicit CudaEvent(cudaEvent_t event) : event_(event) {}
  ~CudaEvent() override;
  Result<bool> done() override;
  Result<double> since(Event& start) override;

 private:
  friend class CudaLane;
  cudaEvent_t event_;
};

class CudaGraph final : public Graph {
 public:
  CudaGraph(int device, cudaStream_t stream, cudaGraphExec_t graph)
      : device_(device), stream_(stream), graph_(graph) {}
  ~CudaGraph() override;
  Status launch() override;

 private:
  const int device_;
  const cudaStream_t stream_;
  const cudaGraphExec_t graph_;
};

class CudaLane final : public Lane {
 public:
  /// `most_early_threads`: see there.
  CudaLane(int device, cudaStream_t stream, bool owned, std::shared_ptr<CudaLimits> limits,
           unsigned most_early_threads)
      : device_(device),
        stream_(stream),
        owned_(owned),
        limits_(std::move(limits)),
        most_early_threads_(most_early_threads) {}
  ~CudaLane() override;

  int device() const override { return device_; }
  Queue queue() override;
  void* native() override { return stream_; }
  Status copy(void* dst, const void* src, std::uint64_t bytes) override;
  Status post(Word* there, const Word* here) override;
  Status signal(Word* there, Word value) override;
  Status launch(const Program& program, const void* arguments, unsigned blocks, unsigned threads) override;
  Status record(Event& event) override;
  Status wait(Event& event) override;
  Status synchronize() override;
  Result<bool> idle() override;
  std::uint64_t capture() override;
  Result<std::unique_ptr<Graph>> graph_of(const std::function<Status()>& work) override;
  Status wait_in_replays(Event& event) override;
  Status record_in_replays(Event& event, ReplayRecord& at) override;
  Status keep_in_replays(std::shared_ptr<void> what) override;

 private:
  const int device_;
  const cudaStream_t stream_;
  const bool owned_;
  const std::shared_ptr<CudaLimits> limits_;
  const unsigned most_early_threads_;
};

}  // namespace sennit::device
