// A build without CUDA: the block programs of path/ have no GPU entry.
#include "path/copy_many.h"
#include "path/peer_copy.h"
#include "path/staged_copy.h"

namespace sennit::device {

template <>
const void* cuda_entry<path::StagedSend>() {
  return nullptr;
}

template <>
const void* cuda_entry<path::StagedReceive>() {
  return nullptr;
}

template <>
const void* cuda_entry<path::CopyMany>() {
  return nullptr;
}

template <>
const void* cuda_entry<path::PeerCopy>() {
  return nullptr;
}

}  // namespace sennit::device
