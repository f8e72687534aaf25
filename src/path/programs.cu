// Every block program of path/, compiled for GPUs.
#include "device/cuda/block.cuh"
#include "path/copy_many.h"
#include "path/peer_copy.h"
#include "path/staged_copy.h"

namespace sennit::device {

template <>
const void* cuda_entry<path::StagedSend>() {
  return reinterpret_cast<const void*>(&run_program<path::StagedSend>);
}

template <>
const void* cuda_entry<path::StagedReceive>() {
  return reinterpret_cast<const void*>(&run_program<path::StagedReceive>);
}

template <>
const void* cuda_entry<path::CopyMany>() {
  return reinterpret_cast<const void*>(&run_program<path::CopyMany>);
}

template <>
const void* cuda_entry<path::PeerCopy>() {
  return reinterpret_cast<const void*>(&run_program<path::PeerCopy>);
}

}  // namespace sennit::device
