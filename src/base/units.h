// Parses and prints quantities as people write them. Sizes are binary (KiB, MiB, GiB), rates decimal (GB/s = 10^9
// B/s).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace sennit {

inline constexpr std::uint64_t KiB = 1ull << 10;
inline constexpr std::uint64_t MiB = 1ull << 20;
inline constexpr std::uint64_t GiB = 1ull << 30;

/// Parses "4096", "64K", "256M", "1.5G", "16MiB", "2 GiB" (case-insensitive, always powers of two).
/// Errors: invalid_argument for anything else, for negatives and for more than 2^63 bytes.
Result<std::uint64_t> parse_bytes(std::string_view text);

/// "0 B", "4 KiB", "1.5 MiB", "1 GiB": exact to two decimals, trailing zeros dropped.
std::string format_bytes(std::uint64_t bytes);

/// Rate in GB/s of moving `bytes` in `microseconds`; 0 when no time passed.
double gigabytes_per_second(std::uint64_t bytes, double microseconds);

}  // namespace sennit
