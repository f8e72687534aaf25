// What every scenario on GPUs begins with: a communicator with its device made current, and streams.
#pragma once

#include <utility>

#include "buffer.h"
#include "capi_rank.h"

namespace sennit::gpu {

/// A communicator, its rank's device made current.
struct Member {
  sennit_comm* comm = capi::create();
  int rank = sennit_comm_rank(comm), size = sennit_comm_size(comm);
  Member() { must(cudaSetDevice(sennit_comm_device(comm)), "cudaSetDevice"); }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  ~Member() { capi::must(sennit_comm_destroy(comm)); }
};

struct Stream {
  cudaStream_t handle = nullptr;
  Stream() { must(cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking), "cudaStreamCreate"); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { (void)cudaStreamDestroy(handle); }
  void synchronize() const { must(cudaStreamSynchronize(handle), "cudaStreamSynchronize"); }
};

/// What `enqueue` does on a stream, captured, to be replayed.
class Graph {
 public:
  template <class Enqueue>
  Graph(cudaStream_t stream, const Enqueue& enqueue, cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal) {
    must(cudaStreamBeginCapture(stream, mode), "cudaStreamBeginCapture");
    enqueue();
    cudaGraph_t captured = nullptr;
    must(cudaStreamEndCapture(stream, &captured), "cudaStreamEndCapture");
    must(cudaGraphInstantiate(&replayable_, captured, 0), "cudaGraphInstantiate");
    must(cudaGraphDestroy(captured), "cudaGraphDestroy");
  }
  Graph(Graph&& other) noexcept : replayable_(std::exchange(other.replayable_, nullptr)) {}
  Graph& operator=(Graph&&) = delete;
  ~Graph() {
    if (replayable_ != nullptr) (void)cudaGraphExecDestroy(replayable_);
  }
  void launch(cudaStream_t stream) const { must(cudaGraphLaunch(replayable_, stream), "cudaGraphLaunch"); }

 private:
  cudaGraphExec_t replayable_ = nullptr;
};

}  // namespace sennit::gpu
