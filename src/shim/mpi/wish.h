// What the receiver of an announced message may ask of its sender: to copy it, as a GPU writes to another one sooner
// than it reads from there (2 × H100: 2.6 µs a copy, 5 and more where copies follow each other).
//
// 1. The receiver writes where to, and opens the wish.
// 2. Either the sender hears it, and copies, or the receiver withdraws it, since a sender that computes does not
// look:
//    whoever changes the state first.
// 3. A sender that cannot copy there refuses, and the receiver does it all the same.
#pragma once

#include <cstdint>
#include <optional>

#include "comm/control.h"
#include "shim/mpi/loans.h"

namespace sennit::shim::mpi {

/// A wish in a slot of the sender's, for its announcement `number`. Of a slot's messages there is one at a time.
class Wish {
 public:
  explicit Wish(comm::Slot& slot) : slot_(slot) {}

  // The receiver:
  /// Before it the memory is as the program left it; what is named may be written from now on.
  void open(std::uint64_t number, const LoanName& where) {
    slot_.words[kIdentity].store(where.identity, std::memory_order_relaxed);
    slot_.words[kCard].store(where.card, std::memory_order_relaxed);
    slot_.words[kOffset].store(where.offset, std::memory_order_relaxed);
    slot_.words[kAddress].store(where.address, std::memory_order_relaxed);
    slot_.words[kState].store(state(number, kOpen), std::memory_order_release);
  }
  /// False: too late, the sender has heard it.
  bool withdraw(std::uint64_t number) { return change(number, kOpen, kWithdrawn); }
  bool is_refused(std::uint64_t number) const {
    return slot_.words[kState].load(std::memory_order_acquire) == state(number, kRefused);
  }
  bool is_open(std::uint64_t number) const {
    return slot_.words[kState].load(std::memory_order_relaxed) == state(number, kOpen);
  }

  // The sender:
  /// Where to copy the message, once; none where nothing is wished.
  std::optional<LoanName> hear(std::uint64_t number) {
    if (!is_open(number) || !change(number, kOpen, kHeard)) return std::nullopt;
    return LoanName{
        slot_.words[kIdentity].load(std::memory_order_relaxed), slot_.words[kCard].load(std::memory_order_relaxed),
        slot_.words[kOffset].load(std::memory_order_relaxed), slot_.words[kAddress].load(std::memory_order_relaxed)};
  }
  /// Nothing of what was named is or will be written.
  void refuse(std::uint64_t number) { (void)change(number, kHeard, kRefused); }

 private:
  static constexpr std::size_t kState = 0, kIdentity = 1, kCard = 2, kOffset = 3,
                               kAddress = 4;  // messages.cc has 6 and 7
  static constexpr std::uint64_t kOpen = 0, kHeard = 1, kRefused = 2, kWithdrawn = 3;
  static constexpr std::uint64_t state(std::uint64_t number, std::uint64_t what) { return number << 2 | what; }

  bool change(std::uint64_t number, std::uint64_t from, std::uint64_t to) {
    std::uint64_t expected = state(number, from);
    return slot_.words[kState].compare_exchange_strong(expected, state(number, to), std::memory_order_acq_rel);
  }

  comm::Slot& slot_;
};

}  // namespace sennit::shim::mpi
