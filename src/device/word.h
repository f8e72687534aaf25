// Defines the words that blocks, lanes and hosts signal each other with.
#pragma once

#include <cstdint>

namespace sennit::device {

using Word = std::uint32_t;
/// Words that different parties poll stand so far apart: one cache line each.
inline constexpr std::uint32_t kWordStride = 64 / sizeof(Word);

}  // namespace sennit::device
