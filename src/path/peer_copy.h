// Drives the direct copy by a kernel: the blocks share the message and load or store straight across the link.
// 1. Block b takes chunks b, b + B, b + 2B … of the message.
// 2. It copies each; nothing is signalled: the end of the launch publishes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/block.h"

namespace sennit::path {

struct PeerCopy {
  static constexpr const char* kName = "peer_copy";
  /// A default: large enough to keep every thread's four loads in flight, small enough to share the tail.
  static constexpr std::uint64_t kChunk = 64 * 1024;

  std::byte* destination;
  const std::byte* source;
  std::uint64_t bytes;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    for (std::uint64_t at = block.index() * kChunk; at < bytes; at += block.count() * kChunk)
      block.copy(destination + at, source + at, bytes - at < kChunk ? bytes - at : kChunk);
  }
};

}  // namespace sennit::path
