// What every scenario on GPUs begins with: a communicator with its device made current, and streams.
#pragma once

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

}  // namespace sennit::gpu
