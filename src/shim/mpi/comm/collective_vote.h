// The ranks of a communicator vote on each collective call: whether all of them can make it with sennit. MPI lets
// each rank have its buffer where it likes, so no rank can tell alone; and a rank whose buffers are on the host must
// not be slowed down.
//
// 1. Each rank counts its collective calls of the communicator, whatever becomes of them.
// 2. A rank that cannot take part (its memory is the host's, a type is not supported) raises its count and goes on
//    to the real function without a look at the others.
// 3. A rank that can writes the call's number beside its count, with a few bits of what it gives that all give alike
//    (signature.h), raises its count, and waits until all have come so far. If all could, all use sennit; else all
//    use the real function. Ranks that give different things, which MPI does not allow, all see so.
//
// A rank that could take part in a blocking call k waits there for all, so at most two numbers of it can matter to a
// rank that still looks at call k: k, and that of its next such call. Two places are enough.
//
// A rank that could take part in a call that ends in a request does not wait: it begins it, in one of three other
// places, and looks for the answer when it can. Beside them it writes the oldest such call that it has not looked at
// yet (0: none). It gives the place of call m to another one only when it has looked at m itself, and no rank's
// oldest is m or before. That is enough: it has looked, so all ranks have come to m, and each that could take part
// wrote its oldest before it raised its count; one whose oldest is later, or none, has looked at m or never will.
// While no place is free a rank does not come to its next call.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "comm/slot_map.h"
#include "shim/mpi/call/signature.h"

namespace sennit::shim::mpi {

class CollectiveVote {
 public:
  /// A slot of each rank, in the order of ranks, of which only that rank writes; all zero at first.
  CollectiveVote(std::vector<comm::Slot*> seats, int rank)
      : slots_(std::move(seats)), mine_(*slots_[std::size_t(rank)]) {}
  /// Makes that of a rank that does not know the others yet: until attach_slots() it votes, and learns no outcome.
  explicit CollectiveVote(comm::Slot& mine) : mine_(mine) {}
  void attach_slots(std::vector<comm::Slot*> seats) { slots_ = std::move(seats); }

  /// Votes that this rank's next call goes to the real function.
  void vote_no() { mine_.words[kCalls].store(++calls_, std::memory_order_release); }

  /// Votes that this rank's next call can be made with sennit. Returns its number, for outcome(). `signature`: of
  /// kSignatureBits.
  std::uint64_t vote_yes(std::uint32_t signature = 0) {
    mine_.words[kOffered + offers_++ % 2].store(said(++calls_, signature), std::memory_order_relaxed);
    mine_.words[kCalls].store(calls_, std::memory_order_release);  // whoever sees the count sees the number too
    return calls_;
  }

  /// Votes as vote_yes() does, for a call that ends in a request; no value while no place is free. looked() is owed
  /// for each.
  std::optional<std::uint64_t> begin(std::uint32_t signature = 0) {
    const auto place = std::ranges::find_if(begun_, [&](const Place& begun) { return is_free(begun); });
    if (place == begun_.end()) return std::nullopt;
    *place = {++calls_, false};
    mine_.words[kBegun + std::size_t(place - begun_.begin())].store(said(calls_, signature),
                                                                    std::memory_order_relaxed);
    tell_oldest();
    mine_.words[kCalls].store(calls_, std::memory_order_release);
    return calls_;
  }
  /// Notes that this rank knows the outcome of call `number`, and will not ask for it again.
  void looked(std::uint64_t number) {
    for (Place& begun : begun_)
      if (begun.number == number) begun.looked = true;
    tell_oldest();
  }

  /// Tells all ranks, as the first one, what is to become of call `number`. No rank goes on before it has read this,
  /// so one place is enough.
  void decide(std::uint64_t number, bool yes) {
    mine_.words[kDecision].store(number << 1 | (yes ? 1 : 0), std::memory_order_release);
  }
  /// Returns what was told; no value while it was not told.
  std::optional<bool> decision(std::uint64_t number) const {
    const std::uint64_t told = slots_.front()->words[kDecision].load(std::memory_order_acquire);
    return told >> 1 == number ? std::optional((told & 1) != 0) : std::nullopt;
  }

  /// Returns whether all ranks have come to this rank's latest call.
  bool all_came() const {
    return std::ranges::all_of(slots_, [&](const comm::Slot* seat) {
      return seat->words[kCalls].load(std::memory_order_acquire) >= calls_;
    });
  }

  /// Returns this rank's latest call.
  std::uint64_t latest() const { return calls_; }
  /// Returns whether this rank has come to call `number`. From any thread.
  bool came(std::uint64_t number) const { return mine_.words[kCalls].load(std::memory_order_acquire) >= number; }

  /// Returns whether all ranks voted yes on call `number`, and give alike; no value while some have not come so far.
  /// To be asked until it answers.
  std::optional<bool> outcome(std::uint64_t number) const {
    bool all = true;
    if (slots_.empty()) return std::nullopt;
    std::optional<std::uint32_t> first;
    for (const comm::Slot* seat : slots_) {
      if (seat->words[kCalls].load(std::memory_order_acquire) < number) return std::nullopt;
      const auto signature = offered(*seat, number);
      if (!first) first = signature;
      all = all && signature && signature == first;
    }
    return all;
  }
  /// Returns, where the outcome was no and before this rank's next call, the first rank that gives another thing than
  /// rank 0; no value where all give alike, or some rank did not vote yes.
  std::optional<int> first_mismatch(std::uint64_t number) const {
    std::optional<int> other;
    const auto first = offered(*slots_.front(), number);
    for (std::size_t rank = 0; rank < slots_.size(); ++rank) {
      const auto signature = offered(*slots_[rank], number);
      if (!signature) return std::nullopt;
      if (!other && signature != first) other = static_cast<int>(rank);
    }
    return other;
  }

 private:
  static constexpr std::size_t kCalls = 0, kOffered = 1, kDecision = 3, kOldest = 4, kBegun = 5;  // words of a slot
  static constexpr std::size_t kPlaces[] = {kOffered, kOffered + 1, kBegun, kBegun + 1, kBegun + 2};

  /// Packs a call into one word: its number, modulo 2^40, over its signature.
  static std::uint64_t said(std::uint64_t number, std::uint32_t signature) {
    return number << kSignatureBits | signature;
  }
  /// Returns the signature of call `number` where a rank has offered it.
  static std::optional<std::uint32_t> offered(const comm::Slot& seat, std::uint64_t number) {
    for (const std::size_t place : kPlaces) {
      const std::uint64_t word = seat.words[place].load(std::memory_order_relaxed);
      if (word >> kSignatureBits == number << kSignatureBits >> kSignatureBits)
        return static_cast<std::uint32_t>(word) & kSignatureMask;
    }
    return std::nullopt;
  }

  /// A call that ends in a request.
  struct Place {
    std::uint64_t number = 0;
    bool looked = true;
  };

  bool is_free(const Place& begun) const {
    return begun.number == 0 || (begun.looked && std::ranges::all_of(slots_, [&](const comm::Slot* seat) {
                                   const std::uint64_t oldest = seat->words[kOldest].load(std::memory_order_acquire);
                                   return oldest == 0 || oldest > begun.number;
                                 }));
  }
  void tell_oldest() {
    std::uint64_t oldest = 0;
    for (const Place& begun : begun_)
      if (!begun.looked && (oldest == 0 || begun.number < oldest)) oldest = begun.number;
    mine_.words[kOldest].store(oldest, std::memory_order_release);
  }

  std::vector<comm::Slot*> slots_;
  comm::Slot& mine_;
  std::array<Place, 3> begun_;
  std::uint64_t calls_ = 0, offers_ = 0;  // of this rank; MPI forbids two collective calls of a communicator at once
};

}  // namespace sennit::shim::mpi
