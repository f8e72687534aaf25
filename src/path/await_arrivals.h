// Makes a lane wait until partitions of a message have arrived.
// 1. The block awaits the arrival words, some at a time.
// 2. The end of the launch publishes what it has seen to what follows in the lane.
#pragma once

#include <cstdint>

#include "device/block.h"

namespace sennit::path {

struct AwaitArrivals {
  static constexpr const char* kName = "await_arrivals";
  static constexpr unsigned kThreads = 32;
  /// A limit of Block::await_each().
  static constexpr std::uint32_t kTogether = 32;

  device::Word* arrived;
  std::uint32_t partitions;
  device::Word start;
  int peer;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    for (std::uint32_t at = 0; at < partitions; at += kTogether) {
      const std::uint32_t count = partitions - at < kTogether ? partitions - at : kTogether;
      const bool came = block.await_each(count, [&](unsigned i) {
        return device::Wait{arrived + at + i, start, at + i, peer};
      });
      if (!came) return;
    }
  }
};

}  // namespace sennit::path
