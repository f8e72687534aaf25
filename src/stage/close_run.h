// Tells when copies follow each other so closely that a block of the GPU that attends to them pays.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace sennit::stage {

/// Pure: it is told what happens. A launch costs what a block saves in one or two copies, so there is one only for
/// copies that are likely to go on; where they did not, later ones have to show more.
class CloseRun {
 public:
  using Time = std::chrono::steady_clock::time_point;
  /// Copies are close whose beginnings are at most so far apart: a default, of a message to a neighbour and its
  /// answer while copy engines still do all four copies of both. 30 µs were too few: on slower hosts (2 × H200, 42 µs
  /// there and back) no block was ever launched, so it stayed as slow.
  static constexpr std::chrono::microseconds kClose{100};
  /// Copies so close to each other before a block is launched for them, and that a launch has to be worth: defaults.
  static constexpr std::uint64_t kLeast = 4, kMost = 64;
  /// So many are needed after copies that were late: a default.
  static constexpr std::uint64_t kAfterLate = 4096;

  /// A copy begins; returns whether it is time to launch.
  bool next(Time now) {
    length_ = now - last_ <= kClose ? length_ + 1 : 1;
    last_ = now;
    return length_ >= needed_;
  }
  /// A block is gone that did so many copies. `late`: one of them took longer than a copy engine takes, as when
  /// several processes have the GPU in turns.
  void gone(std::uint64_t copies, bool late) {
    needed_ = late ? kAfterLate : copies >= kLeast ? kLeast : std::min(needed_ * 2, kMost);
    length_ = 0;
  }

 private:
  Time last_{};
  std::uint64_t length_ = 0, needed_ = kLeast;
};

}  // namespace sennit::stage
