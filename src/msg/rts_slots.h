// Gives each message a slot, and its RTS a length (rts.h): a rank that probes for the message learns that length,
// sender, tag and context, and must be able to say how long the message is.
//
// 1. RTSs may be alike in all of that where their messages have equally many bytes: whichever a probe has found, the
//    answer is the same. What else there is to know of them is in rts_tracker.h.
// 2. RTSs that go elsewhere, with another tag or in a context of other ranks are told apart by that, and may be as
//    long.
// 3. The shortest length that is left is taken, of the first group that has a free slot; the group's very shortest
//    only where there is no other. So messages of one kind keep together, and leave the lengths of other groups to
//    other kinds, and the shortest to those that have no choice.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "msg/look_alikes.h"
#include "msg/rts.h"

namespace sennit::msg {

/// Holds the slots of this process. Not thread-safe.
class RtsSlots {
 public:
  struct Taken {
    int slot;
    int step;
  };
  /// Takes a slot and a length for a message of so many bytes; no value where no RTS is as short, and like no other
  /// message, or no slot of its group is free. Not of `doubtful`.
  std::optional<Taken> take(std::uint64_t bytes, const Envelope& to, const LookAlikes::Steps& doubtful) {
    const int steps = steps_within(bytes);
    for (int group = 0; group < std::min(steps, Rts::kGroups); ++group) {
      Group& slots = groups_[static_cast<std::size_t>(group)];
      if (slots.used == kAll) continue;
      const std::uint64_t barred = slots.barred(bytes, to);
      const int turns = (steps - group + Rts::kGroups - 1) / Rts::kGroups;
      for (int tried = 1; tried <= turns; ++tried) {
        const int turn = tried % turns, step = group + turn * Rts::kGroups;
        if ((barred >> turn & 1) != 0 || doubtful.test(static_cast<std::size_t>(step))) continue;
        const int place = std::countr_one(slots.used);
        slots.used |= std::uint64_t{1} << place;
        slots.messages[static_cast<std::size_t>(place)] = {to.dest_and_tag(), to.members, bytes, turn};
        return Taken{group + place * Rts::kGroups, step};
      }
    }
    return std::nullopt;
  }
  /// Frees the slot: no receiver looks for the message any more.
  void give_back(int slot) { group_of(slot).used &= ~(std::uint64_t{1} << slot / Rts::kGroups); }
  /// Gives the slot up: a receiver may still come to its message, so it is not taken again, and no probe finds it.
  void lose(int slot) {
    group_of(slot).messages[static_cast<std::size_t>(slot / Rts::kGroups)] = {Envelope::kNoReceiver, 0, 0, 0};
  }

 private:
  static constexpr int kOfGroup = Rts::kSlots / Rts::kGroups;
  static constexpr std::uint64_t kAll = (std::uint64_t{1} << kOfGroup) - 1;
  static_assert(kOfGroup < 64);

  /// Returns how many RTS lengths are no longer than a message.
  static constexpr int steps_within(std::uint64_t bytes) {
    constexpr auto kFirst = static_cast<std::uint64_t>(Rts::length_of(0));
    constexpr auto kStep = static_cast<std::uint64_t>(Rts::length_of(1)) - kFirst;
    if (bytes < kFirst) return 0;
    return static_cast<int>(std::min<std::uint64_t>((bytes - kFirst) / kStep + 1, Rts::kSteps));
  }

  struct Message {
    std::uint64_t dest_and_tag, members, bytes;
    int turn;  // of the group's steps
  };
  /// The slots, and the steps, of one remainder.
  struct Group {
    std::uint64_t used = 0;  // by place: the slot is free again with its message
    std::array<Message, kOfGroup> messages{};

    /// Turns of messages under way that a probe cannot tell from this one, and that have other lengths.
    std::uint64_t barred(std::uint64_t bytes, const Envelope& to) const {
      std::uint64_t turns = 0;
      for (std::uint64_t left = used; left != 0; left &= left - 1) {
        const Message& other = messages[static_cast<std::size_t>(std::countr_zero(left))];
        const bool alike = other.dest_and_tag == to.dest_and_tag() && other.members == to.members;
        if (alike && other.bytes != bytes) turns |= std::uint64_t{1} << other.turn;
      }
      return turns;
    }
  };
  Group& group_of(int slot) { return groups_[static_cast<std::size_t>(Rts::group_of(slot))]; }

  std::array<Group, Rts::kGroups> groups_{};
};

}  // namespace sennit::msg
