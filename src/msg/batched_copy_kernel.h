// Copies several messages, each to a place of its own, in one launch. A GPU that is full of a program's blocks does
// not begin the launch; the host may then take back what no block has begun, and leave it to copy engines.
//
// 1. Block b has message b. It says that it begins, then looks whether the launch was taken back; the host takes it
//    back, then looks which blocks have begun. One of both sees the other (meet).
// 2. Where the launch was taken back, the block says that it declines, and does nothing.
// 3. Else it copies the message, and signals the message's own word.
//
// A host that finds a block begun does not know what it saw: that one either declines or signals, soon.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/block.h"

namespace sennit::msg {

struct BatchedCopyKernel {
  static constexpr const char* kName = "batched_copy";
  /// Messages of a launch: a limit, of its arguments.
  static constexpr unsigned kMost = 64;

  /// A message whose completion is signalled by `value` in `completion`, memory that the GPU and whoever waits reach.
  struct Copy {
    void* to = nullptr;
    const void* from = nullptr;
    std::uint64_t bytes = 0;
    device::Word* completion = nullptr;
    device::Word value = 0;
  };

  /// Host memory that the GPU reaches, zeroed when made: of one launch at a time, each of a higher number.
  struct Sheet {
    device::Word taken_back = 0;
    device::Word begun[kMost] = {};
    device::Word declined[kMost] = {};
  };

  Sheet* sheet = nullptr;
  device::Word number = 0;
  Copy copies[kMost];

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    const unsigned b = block.index();
    if (block.meet(&sheet->begun[b], number, &sheet->taken_back)) {
      block.post(&sheet->declined[b], number);
      return;
    }
    const Copy& one = copies[b];
    block.copy(one.to, one.from, one.bytes);
    block.signal(one.completion, one.value);
  }
};
static_assert(sizeof(BatchedCopyKernel) <=
              4000);  // a launch's arguments: CUDA's limit of 4096 bytes, less the executor's own

}  // namespace sennit::msg
