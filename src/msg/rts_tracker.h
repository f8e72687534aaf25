// Keeps which of a sender's RTSs this rank has come to, where several are alike to a probe (rts_slots.h).
//
// 1. An RTS that is received names its slot.
// 2. A probe finds an RTS that was not received, and takes nothing.
// 3. A matched probe takes an RTS from the library, and which one is not known before it is received; with several
//    threads, or contexts of the same ranks, it need not be the oldest. Any of those that are left is noted as taken:
//    so their number is right.
// 4. When an RTS is received, notes are put right. If a matched probe took it, a note of another one is dropped; if
//    another receive took it, its own note goes to another one.
//
// A note is of one message of a slot, so it does not outlive its message, whatever a probe was told.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "device/word.h"
#include "msg/rts.h"

namespace sennit::msg {

/// Tracks the RTSs of one sender. Not thread-safe.
class RtsTracker {
 public:
  /// A message: a slot, and which of its RTSs.
  struct One {
    int slot;
    device::Word use;
  };

  /// Returns whether a probe may still find the message.
  bool is_left(const One& one) const { return of(one).received != one.use && of(one).taken != one.use; }
  /// A matched probe took one of those that are alike; this one is left.
  void take(const One& one) { of(one).taken = one.use; }
  /// `matched`: by a matched probe. `alike`: calls a function with each message that is on its way to this rank, and
  /// is to a probe as this one, until it returns true.
  template <class Alike>
  void receive(const One& one, bool matched, const Alike& alike) {
    const bool noted = of(one).taken == one.use;
    of(one) = {one.use, std::nullopt};
    if (noted == matched) return;
    alike([&](const One& other) {
      const bool found = matched ? of(other).taken == other.use : is_left(other);
      if (found && matched) of(other).taken.reset();
      if (found && !matched) take(other);
      return found;
    });
  }

 private:
  struct Latest {
    std::optional<device::Word> received, taken;
  };
  Latest& of(const One& one) { return slots_[static_cast<std::size_t>(one.slot)]; }
  const Latest& of(const One& one) const { return slots_[static_cast<std::size_t>(one.slot)]; }

  std::array<Latest, Rts::kSlots> slots_{};
};

}  // namespace sennit::msg
