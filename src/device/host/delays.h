// Holds up threads of the host executor at random, for tests, wherever a block signals, waits or sends a packet, so
// that ranks and blocks overtake each other in ways that chance alone rarely brings about.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <random>
#include <thread>

namespace sennit::device {

class Delays {
 public:
  /// All threads of this process, from now on; 0 ends it. The same seed gives new threads the same delays, by the
  /// order in which they first come here.
  static void set(std::uint32_t seed) {
    threads_.store(0);
    seed_.store(seed);
  }

  /// One time in 8 the thread lets others go first, one time in 64 it sleeps for up to 100 µs.
  static void hold_up() {
    const std::uint32_t seed = seed_.load(std::memory_order_relaxed);
    if (seed != 0) hold_up(seed);
  }

 private:
  static void hold_up(std::uint32_t seed) {
    thread_local std::minstd_rand random(seed * 7919 + threads_.fetch_add(1, std::memory_order_relaxed));
    const std::uint32_t drawn = static_cast<std::uint32_t>(random() >> 8);
    if (drawn % 64 == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(drawn / 64 % 100));
    else if (drawn % 8 == 0)
      std::this_thread::yield();
  }

  static inline std::atomic<std::uint32_t> seed_{0}, threads_{0};
};

}  // namespace sennit::device
