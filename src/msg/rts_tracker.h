// Keeps which of a sender's RTSs this rank has come to, where several are alike to a probe (rts_slots.h).
//
// 1. One is received: it tells its slot.
// 2. A probe finds one that was not, and takes nothing.
// 3. A matched probe takes one from the library, and nobody knows which before it is received; with several threads,
// or
//    contexts of the same ranks, it need not be the oldest. Any of those that are left is noted as taken: that many
//    there are.
// 4. When one is received, notes are put right: of one that a matched probe took, a note of another one is dropped;
// by
//    another receive, its own note goes to another one.
//
// Notes are of one message of a slot, so none outlives its message, whatever a probe was told.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "device/word.h"
#include "msg/rts.h"

namespace sennit::msg {

/// Of one sender. Not thread-safe.
class RtsTracker {
 public:
  /// A message: a slot, and which of its RTSs.
  struct One {
    int slot;
    device::Word use;
  };

  /// Returns whether a probe may still find it.
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
