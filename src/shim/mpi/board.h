// What the ranks of a communicator say of their next collective call: whether they can make it with sennit. MPI lets
// each rank have its buffer where it likes, so no rank can tell alone; and a rank whose buffers are on the host must
// not be slowed down.
//
// 1. Each rank counts its collective calls of the communicator, whatever becomes of them.
// 2. A rank that cannot take part (its memory is the host's, a type is not supported) raises its count and goes on
//    to the real function without a look at the others.
// 3. A rank that can writes the call's number beside its count, raises it, and waits until all have come so far. If
//    all could, all use sennit; else all use the real function.
//
// A rank that could take part in call k waits there for all, so at most two numbers of it can matter to a rank that
// still looks at call k: k, and that of its next such call. Two places are enough.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "comm/control.h"

namespace sennit::shim::mpi {

class Board {
 public:
  /// A slot of each rank, in the order of ranks, of which only that rank writes; all zero at first.
  Board(std::vector<comm::Slot*> seats, int rank) : seats_(std::move(seats)), mine_(*seats_[std::size_t(rank)]) {}

  /// This rank's next call goes to the real function.
  void pass() { mine_.words[kCalls].store(++calls_, std::memory_order_release); }

  /// This rank's next call can be made with sennit; its number, for answer().
  std::uint64_t offer() {
    mine_.words[kOffered + offers_++ % 2].store(++calls_, std::memory_order_relaxed);
    mine_.words[kCalls].store(calls_, std::memory_order_release);  // whoever sees the count sees the number too
    return calls_;
  }

  /// What is to become of call `number`, told by the first rank to all. Nobody goes on before it has read this, so
  /// one place is enough.
  void decide(std::uint64_t number, bool yes) {
    mine_.words[kDecision].store(number << 1 | (yes ? 1 : 0), std::memory_order_release);
  }
  /// None while that is not told.
  std::optional<bool> decision(std::uint64_t number) const {
    const std::uint64_t told = seats_.front()->words[kDecision].load(std::memory_order_acquire);
    return told >> 1 == number ? std::optional((told & 1) != 0) : std::nullopt;
  }

  /// Whether all ranks have come to this rank's latest call.
  bool all_came() const {
    return std::ranges::all_of(seats_, [&](const comm::Slot* seat) {
      return seat->words[kCalls].load(std::memory_order_acquire) >= calls_;
    });
  }

  /// Whether all ranks offered call `number`; none while some have not come so far. To be asked until it answers.
  std::optional<bool> answer(std::uint64_t number) const {
    bool all = true;
    for (const comm::Slot* seat : seats_) {
      if (seat->words[kCalls].load(std::memory_order_acquire) < number) return std::nullopt;
      all = all && (seat->words[kOffered].load(std::memory_order_relaxed) == number ||
                    seat->words[kOffered + 1].load(std::memory_order_relaxed) == number);
    }
    return all;
  }

 private:
  static constexpr std::size_t kCalls = 0, kOffered = 1, kDecision = 3;  // words of a slot

  std::vector<comm::Slot*> seats_;
  comm::Slot& mine_;
  std::uint64_t calls_ = 0, offers_ = 0;  // of this rank; MPI forbids two collective calls of a communicator at once
};

}  // namespace sennit::shim::mpi
