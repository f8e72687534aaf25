// What the receiver of an announced message may ask of its sender: to copy it, as a GPU writes to another one sooner
// than it reads from there (2 × H100: 2.6 µs a copy, 5 and more where copies follow each other).
//
// 1. The receiver writes where to, and opens the wish.
// 2. Either the sender hears it, and copies, or the receiver withdraws it, since a sender that computes does
//    not look: whoever changes the state first.
// 3. A sender that cannot copy there refuses, and the receiver does it all the same.
// 4. A sender that has waited long enough leaves a copy of the message behind, unless its receiver has come
//    before, and wishes something or says that it copies itself: again whoever changes the state first.
#pragma once

#include <cstdint>
#include <optional>

#include "comm/slot_map.h"
#include "shim/mpi/loans.h"

namespace sennit::shim::mpi {

/// A wish in a slot of the sender's, for its announcement `number`. Of a slot's messages there is one at a time.
class Wish {
 public:
  explicit Wish(comm::Slot& slot) : slot_(slot) {}

  // The receiver:
  /// Before it the memory is as the program left it; what is named may be written from now on. False: too late, a
  /// copy of the message was left.
  bool open(std::uint64_t number, const LoanName& where) {
    slot_.words[kIdentity].store(where.identity, std::memory_order_relaxed);
    slot_.words[kCard].store(where.card, std::memory_order_relaxed);
    slot_.words[kOffset].store(where.offset, std::memory_order_relaxed);
    slot_.words[kAddress].store(where.address, std::memory_order_relaxed);
    return come(number, kOpen);
  }
  /// The receiver copies from the sender's memory. False: too late, a copy of the message was left.
  bool claim(std::uint64_t number) { return come(number, kWithdrawn); }
  /// False: too late, the sender has heard it.
  bool withdraw(std::uint64_t number) { return change(number, kOpen, kWithdrawn); }
  bool is_refused(std::uint64_t number) const {
    return slot_.words[kState].load(std::memory_order_acquire) == state(number, kRefused);
  }
  bool is_open(std::uint64_t number) const {
    return slot_.words[kState].load(std::memory_order_relaxed) == state(number, kOpen);
  }

  /// The receiver copies, now or when it has found another way: there is nothing to hear.
  bool is_claimed(std::uint64_t number) const {
    return slot_.words[kState].load(std::memory_order_relaxed) == state(number, kWithdrawn);
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
  /// From now on the receiver finds a copy of the message, whose memory it lets alone. False: too late, it has come.
  bool leave(std::uint64_t number) {
    std::uint64_t seen = slot_.words[kState].load(std::memory_order_relaxed);
    return seen >> kBits != number &&
           slot_.words[kState].compare_exchange_strong(seen, state(number, kLeft), std::memory_order_acq_rel);
  }

 private:
  static constexpr std::size_t kState = 0, kIdentity = 1, kCard = 2, kOffset = 3, kAddress = 4;
  static constexpr std::uint64_t kOpen = 0, kHeard = 1, kRefused = 2, kWithdrawn = 3, kLeft = 4;
  static constexpr int kBits = 3;
  static constexpr std::uint64_t state(std::uint64_t number, std::uint64_t what) { return number << kBits | what; }

  /// The receiver's first change for this message, or one after that.
  bool come(std::uint64_t number, std::uint64_t to) {
    std::uint64_t seen = slot_.words[kState].load(std::memory_order_relaxed);
    while (seen != state(number, kLeft))
      if (slot_.words[kState].compare_exchange_weak(seen, state(number, to), std::memory_order_acq_rel)) return true;
    return false;
  }

  bool change(std::uint64_t number, std::uint64_t from, std::uint64_t to) {
    std::uint64_t expected = state(number, from);
    return slot_.words[kState].compare_exchange_strong(expected, state(number, to), std::memory_order_acq_rel);
  }

  comm::Slot& slot_;
};

}  // namespace sennit::shim::mpi
