// The RTS (ready to send) travels in the place of a message that a GPU copies (messages.h).
#pragma once

#include <cstdint>
#include <optional>

#include "comm/slot_map.h"
#include "device/word.h"
#include "msg/envelope.h"
#include "msg/ipc_cache.h"
#include "msg/select.h"

namespace sennit::msg {

/// Describes what is sent in the place of a message. It travels between processes of one node and one build: plain
/// memory.
struct Rts {
  std::uint64_t job[2];  ///< how it is known
  std::uint64_t number;  ///< of this sender's RTSs, from 1
  std::uint64_t bytes;   ///< of the message
  std::int32_t sender;   ///< in the group
  std::int32_t slot;     ///< of the sender's for messages, from 0: where its completion is signalled
  std::int32_t step;     ///< which length it has
  device::Word use;      ///< of the slot's RTSs, from 1; wraps around
  RemoteKey memory;
  char device[64];   ///< that holds it, by its UUID
  bool sync_memops;  ///< stage::MemInfo

  /// Slots that a rank has for messages: a limit of those on their way from it; the next ones are staged.
  static constexpr int kSlots = comm::RankSlots::kMessages;

  /// Returns how many bytes are sent, more than this object has: a probe learns them alone. They are a multiple of
  /// every number's size, since MPICH takes none that ends within an element, and of no larger power of two, as
  /// programs' messages often are.
  static constexpr int length_of(int step) { return 160 + 64 * step; }
  int length() const { return length_of(step); }
  /// Returns the step whose RTSs are so long, if there is one.
  static constexpr std::optional<int> step_of(std::uint64_t bytes);
  static constexpr int kSteps = kSlots;
  /// A slot's RTSs have the steps of its group, those with its remainder: a rank that finds one of some length looks
  /// at the slots of a group, and each slot of a group finds a step of its own, if the message is long enough.
  static constexpr int kGroups = 2;
  static constexpr int group_of(int step) { return step % kGroups; }
};
static_assert(sizeof(Rts) <= Rts::length_of(0));
static_assert(Rts::kSlots % Rts::kGroups == 0);

inline constexpr std::uint64_t kLongestRts = Rts::length_of(Rts::kSteps - 1);
/// The shortest messages find room in every group.
static_assert(kLeastAnnounced >= Rts::length_of(Rts::kGroups - 1));
/// No receive of fewer bytes can meet an RTS.
inline constexpr std::uint64_t kLeastLookedAt = Rts::length_of(0);

constexpr std::optional<int> Rts::step_of(std::uint64_t bytes) {
  constexpr std::uint64_t kStep = length_of(1) - length_of(0);
  if (bytes < kLeastLookedAt || bytes > kLongestRts || (bytes - kLeastLookedAt) % kStep != 0) return std::nullopt;
  return static_cast<int>((bytes - kLeastLookedAt) / kStep);
}

/// Words of a slot (comm::Slot). kEnd: how many of its RTSs have completed, a half word, since lanes write such;
/// kUse: the latest RTS's; kBytes, kEnvelope, kMembers, kStep: of that one. kAsk: the number of one whose receiver
/// asks for a copy in host memory; kOffer: 1 + the number of that copy's file in comm::Group.
struct RtsWords {
  static constexpr std::size_t kEnd = 0, kAsk = 1, kOffer = 2, kUse = 3, kBytes = 4, kEnvelope = 5, kMembers = 6,
                               kStep = 7;
  /// Stands in kOffer where there can be no copy.
  static constexpr std::uint64_t kNoCopy = ~std::uint64_t{0};
};

}  // namespace sennit::msg
