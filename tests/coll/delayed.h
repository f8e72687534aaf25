// Threads that are held up at random, for tests of any order of them.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "device/host/delays.h"

namespace sennit::coll {

/// Delays everywhere while it lives.
struct Delayed {
  explicit Delayed(std::uint32_t seed) { device::Delays::set(seed); }
  ~Delayed() { device::Delays::set(0); }
};

/// SENNIT_TEST_SEED starts elsewhere: to look for more, or to repeat what was found.
inline std::uint32_t first_seed() {
  const char* const text = std::getenv("SENNIT_TEST_SEED");
  return text != nullptr ? static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10)) : 1;
}

}  // namespace sennit::coll
