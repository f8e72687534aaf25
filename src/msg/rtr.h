// The RTR (ready to receive) of a message asks the sender to copy it (put), as a GPU writes to another one sooner
// than it reads from there (2 × H100: 2.6 µs a copy, 5 and more where copies follow each other).
//
// 1. The receiver writes where to, and posts the RTR.
// 2. Either the sender accepts it, and copies, or the receiver cancels it and copies itself (get), since a sender
//    that computes does not look: the first to change the state decides.
// 3. A sender that cannot copy there rejects it, and the receiver copies.
// 4. A sender that has waited long enough leaves a copy of the message in host memory (buffered), unless its receiver
//    has posted or cancelled before: again the first to change the state decides.
#pragma once

#include <cstdint>
#include <optional>

#include "comm/slot_map.h"
#include "msg/ipc_cache.h"

namespace sennit::msg {

/// An RTR in a slot of the sender's, for its RTS `number`. Of a slot's messages there is one at a time.
class Rtr {
 public:
  explicit Rtr(comm::Slot& slot) : slot_(slot) {}

  // The receiver:
  /// Posts the RTR. The memory is as the program left it until then; what `where` names may be written from now on.
  /// False: too late, a copy of the message was left.
  bool post(std::uint64_t number, const RemoteKey& where) {
    slot_.words[kIdentity].store(where.identity, std::memory_order_relaxed);
    slot_.words[kKeyFile].store(where.key_file, std::memory_order_relaxed);
    slot_.words[kOffset].store(where.offset, std::memory_order_relaxed);
    slot_.words[kAddress].store(where.address, std::memory_order_relaxed);
    return come(number, kPosted);
  }
  /// The receiver copies from the sender's memory. False: too late, a copy of the message was left.
  bool claim(std::uint64_t number) { return come(number, kCancelled); }
  /// False: too late, the sender has accepted it.
  bool cancel(std::uint64_t number) { return change(number, kPosted, kCancelled); }
  bool is_rejected(std::uint64_t number) const {
    return slot_.words[kState].load(std::memory_order_acquire) == state(number, kRejected);
  }
  bool is_posted(std::uint64_t number) const {
    return slot_.words[kState].load(std::memory_order_relaxed) == state(number, kPosted);
  }

  /// The receiver copies, now or when it has found another way: there is nothing to accept.
  bool is_claimed(std::uint64_t number) const {
    return slot_.words[kState].load(std::memory_order_relaxed) == state(number, kCancelled);
  }

  // The sender:
  /// Returns where to copy the message, once; no value where no RTR is posted.
  std::optional<RemoteKey> accept(std::uint64_t number) {
    if (!is_posted(number) || !change(number, kPosted, kAccepted)) return std::nullopt;
    return RemoteKey{
        slot_.words[kIdentity].load(std::memory_order_relaxed), slot_.words[kKeyFile].load(std::memory_order_relaxed),
        slot_.words[kOffset].load(std::memory_order_relaxed), slot_.words[kAddress].load(std::memory_order_relaxed)};
  }
  /// Nothing of what was named is or will be written.
  void reject(std::uint64_t number) { (void)change(number, kAccepted, kRejected); }
  /// Leaves a copy of the message, which the receiver finds from now on; it lets the message's memory alone. False:
  /// too late, the receiver has come.
  bool leave_copy(std::uint64_t number) {
    std::uint64_t seen = slot_.words[kState].load(std::memory_order_relaxed);
    return seen >> kBits != number &&
           slot_.words[kState].compare_exchange_strong(seen, state(number, kCopyLeft), std::memory_order_acq_rel);
  }

 private:
  static constexpr std::size_t kState = 0, kIdentity = 1, kKeyFile = 2, kOffset = 3, kAddress = 4;
  static constexpr std::uint64_t kPosted = 0, kAccepted = 1, kRejected = 2, kCancelled = 3, kCopyLeft = 4;
  static constexpr int kBits = 3;
  static constexpr std::uint64_t state(std::uint64_t number, std::uint64_t what) { return number << kBits | what; }

  /// Makes the receiver's first change for this message, or one after that; false: a copy of the message was left.
  bool come(std::uint64_t number, std::uint64_t to) {
    std::uint64_t seen = slot_.words[kState].load(std::memory_order_relaxed);
    while (seen != state(number, kCopyLeft))
      if (slot_.words[kState].compare_exchange_weak(seen, state(number, to), std::memory_order_acq_rel)) return true;
    return false;
  }

  bool change(std::uint64_t number, std::uint64_t from, std::uint64_t to) {
    std::uint64_t expected = state(number, from);
    return slot_.words[kState].compare_exchange_strong(expected, state(number, to), std::memory_order_acq_rel);
  }

  comm::Slot& slot_;
};

}  // namespace sennit::msg
