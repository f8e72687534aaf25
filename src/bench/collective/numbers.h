// Makes what ranks give each other when a collective is checked: messages that every rank can make, and the results
// that they should give.
#pragma once

#include <cstddef>
#include <vector>

#include "bench/collective/layout.h"
#include "device/reduction.h"

namespace sennit::bench::collective {

/// Bytes after which a message repeats itself, whatever its type: references need no more memory.
inline constexpr std::uint64_t kPeriod = 8 * 4 * 251 * 64;

/// Returns message `number`: small numbers of the type, exact in every sum over 8 ranks.
std::vector<std::byte> numbers(device::Type type, std::uint64_t bytes, unsigned number);
/// Returns message `number`: any bytes.
std::vector<std::byte> noise(std::uint64_t bytes, unsigned number);

/// Returns all messages that the layout's rank gives, side by side.
std::vector<std::byte> given(const Layout& layout, device::Type type);
/// Returns the first kPeriod bytes, at most, of message `index` of its output.
std::vector<std::byte> expected(const Layout& layout, const device::Reduction& reduction, unsigned index);
/// Returns whether `got` is what was expected: bit for bit, but for averages of floating-point numbers. Those are
/// sums of rounded parts where the ranks are no power of two, and each algorithm rounds in an order of its own.
bool agree(const device::Reduction& reduction, bool reduced, const std::byte* got, const std::byte* right,
           std::uint64_t bytes);

}  // namespace sennit::bench::collective
