// Puts bytes that cannot be right by accident into a device's memory, and reads them out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "device/executor.h"

namespace sennit::doctor {

/// Returns the bytes that depend on `seed` and on their place, so that stale, shifted and repeated data differ from
/// them.
std::vector<std::byte> pattern(std::size_t bytes, std::uint64_t seed);

/// Copies host bytes to `to` by `lane`, and waits. `pinned` is at least as large.
Status put_bytes(device::Lane& lane, void* to, const std::vector<std::byte>& bytes, const device::Memory& pinned);

/// Reads `wanted.size()` bytes at `from` by `lane` into poisoned host memory. Errors: corrupt says how many bytes
/// differ and where the first one is.
Status expect_bytes(device::Lane& lane, const void* from, const std::vector<std::byte>& wanted,
                    const device::Memory& pinned);

}  // namespace sennit::doctor
