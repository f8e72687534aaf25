// Tells ordinary host memory from freed, foreign or protected addresses: says whether an address can be used at all.
#pragma once

#include <cstdint>
#include <istream>

namespace sennit::device {

/// True when the byte at `pointer` is readable by this process. Never faults: the kernel does the reading.
bool is_mapped(const void* pointer);

enum class Access { read, write };

/// True when every byte of the range is memory of this process that may be read, or written. Never faults. Memory
/// that was allocated and never touched is filled in on the way, which the transfer would do a page at a time.
bool is_usable(const void* data, std::uint64_t bytes, Access access);

/// Answers from the text of /proc/self/maps (the way of kernels before 5.14): for tests.
bool is_usable(std::istream& maps, const void* data, std::uint64_t bytes, Access access);

}  // namespace sennit::device
