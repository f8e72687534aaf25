// Describes one end of a message.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sennit::path {

/// Index of a stop in this process: a device of the executor, or host memory.
inline constexpr int kHost = -1;

/// An address and the device that holds it. Memory of another process is mapped once for the device that this process
/// works from, and once for the device that holds it, where that is visible here.
struct End {
  std::byte* data = nullptr;  ///< for lanes of every device but `device` itself; null where it cannot be mapped
  int device = kHost;
  std::byte* at_owner = nullptr;  ///< for lanes of `device`
  int rank = -1;                  ///< of the process that owns it; -1: this one
  std::uint32_t window = 0;       ///< rank >= 0: the window it lies in, and where
  std::uint64_t offset = 0;
  bool pageable = false;  ///< ordinary host memory

  static End local(void* address, int device) {
    auto* data = static_cast<std::byte*>(address);
    return {data, device, data, -1, 0, 0, false};
  }

  std::byte* seen_from(int lane_device) const { return lane_device == device ? at_owner : data; }

  End operator+(std::uint64_t step) const {
    End moved = *this;
    if (moved.data != nullptr) moved.data += step;
    if (moved.at_owner != nullptr) moved.at_owner += step;
    moved.offset += step;
    return moved;
  }
};

}  // namespace sennit::path
