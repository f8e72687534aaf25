// Maps the control segment: it says which words each rank has there, and who uses them. A user takes its words by
// name from RankSlots; there are no slot numbers that could collide.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sennit::comm {

/// One cache line, so that ranks that poll different slots do not slow each other down. All zero at first. The
/// protocol that uses it says who writes and who reads; words are lock-free and work between processes.
struct alignas(64) Slot {
  std::array<std::atomic<std::uint64_t>, 8> words;
};
static_assert(sizeof(Slot) == 64 && std::atomic<std::uint64_t>::is_always_lock_free);

/// path/doorbell.h: how a peer wakes the proxy thread that serves this rank.
struct alignas(64) DoorbellSlot {
  std::atomic<std::uint64_t> rings;
  std::atomic<std::uint64_t> asleep;
};

/// path/proxy_channel.h and path/transport.h: what this rank shares with one peer of its node, by the peer's node
/// index.
struct alignas(64) HostPathSlot {
  std::array<std::atomic<std::uint64_t>, 2> rings;  ///< by path::Direction: the number of the ring's file; 0: no ring
  std::atomic<std::uint64_t> last_message_ns;       ///< when this rank last put to the peer, or got from it
};

/// plan/plan_switch.h: rank 0 proposes a change of plans, and each rank says how far it has come.
struct alignas(64) PlanSwitchSlot {
  std::atomic<std::uint64_t> calls;  ///< of this rank
  /// The latest change; rank 0's alone. `change` is odd while the others are being written.
  std::atomic<std::uint64_t> change, key, value, from;
};
/// plan/plan_switch.h: what timed calls took on this rank.
struct alignas(64) SamplesSlot {
  std::array<std::atomic<std::uint64_t>, 8> latest;
};

/// shim/nccl/communicator.cc: how a rank ends a communicator beside another library's.
struct alignas(64) EndingSlot {
  std::atomic<std::uint64_t> leaving;    ///< how far it has come with leaving
  std::atomic<std::uint64_t> mismatch;   ///< of rank 0: 1 once a mismatch of calls was told
  std::atomic<std::uint64_t> finalized;  ///< 1 once the program ended the communicator, with all of its work done
  std::atomic<std::uint64_t> counts;     ///< of calls, of both libraries
};

/// shim/mpi/comm/comm_registry.cc: a process that takes part in messages between GPUs.
struct alignas(64) PresenceSlot {
  std::atomic<std::uint64_t> listens;  ///< 1: it does
  std::atomic<std::uint64_t> at_end;   ///< 1: the rank has come to the end of its library
};

/// shim/mpi/rma/target_lock.h: one call at a time accumulates into the rank's memory.
struct alignas(64) AccumulateSlot {
  std::atomic<std::uint64_t> holder;  ///< 1 + the rank that does; 0: no rank
};

/// msg/rndv_put.cc: signs of life of a process whose messages others wait for.
struct alignas(64) ProgressSlot {
  std::atomic<std::uint64_t> passes;  ///< how often it has begun to look at all of its messages
  std::atomic<std::uint64_t> alive;   ///< the same, and how many RTRs it has accepted and long messages fetched
};

/// bench/put/pairing.cc: the two ranks of a measurement meet.
struct alignas(64) MeetingSlot {
  std::atomic<std::uint64_t> met;
  std::array<std::atomic<std::uint64_t>, 2> given;  ///< what each meeting exchanges, by turns
  std::atomic<std::uint64_t> ended;                 ///< of rank 0: 1 once all measurements are done
};
/// bench/tune/pair.cc: what rank 0 lets rank 1 do next.
struct alignas(64) OrderSlot {
  std::atomic<std::uint64_t> arrivals;  ///< of each rank
  std::atomic<std::uint64_t> order, bytes, set, share;
};

/// All of a rank's words. A communicator uses those that its callers need; the others stay zero, and pages that
/// are never touched take no memory.
struct RankSlots {
  /// Ranks of a node that a segment has room for: a limit of the layout.
  static constexpr int kMostRanks = 1024;
  /// Messages on their way from one rank: a limit of the layout.
  static constexpr int kMessages = 112;
  /// Votes on collective calls, one a communicator: what is left of 256 KiB a rank.
  static constexpr int kVotes = 4096 - kMostRanks - 2 * kMessages - 9;

  DoorbellSlot doorbell;
  std::array<HostPathSlot, kMostRanks> host_paths;  ///< by the peer's node index
  PlanSwitchSlot plan_switch;
  SamplesSlot samples;
  EndingSlot ending;
  MeetingSlot meeting;
  OrderSlot order;
  std::array<Slot, kVotes> votes;  ///< shim/mpi/comm/collective_vote.h
  AccumulateSlot accumulate;
  PresenceSlot presence;
  ProgressSlot progress;
  std::array<Slot, kMessages> rts;  ///< msg/rts.h
  std::array<Slot, kMessages> rtr;  ///< msg/rtr.h: of the RTS with the same index
};

/// Checks that a user's words fill whole cache lines of their own.
template <class Words>
inline constexpr bool kIsOneSlot = sizeof(Words) == sizeof(Slot) && alignof(Words) == alignof(Slot);
static_assert(kIsOneSlot<DoorbellSlot> && kIsOneSlot<HostPathSlot> && kIsOneSlot<PlanSwitchSlot> &&
              kIsOneSlot<SamplesSlot> && kIsOneSlot<EndingSlot> && kIsOneSlot<MeetingSlot> && kIsOneSlot<OrderSlot> &&
              kIsOneSlot<AccumulateSlot> && kIsOneSlot<PresenceSlot> && kIsOneSlot<ProgressSlot>);
// Members of a structure neither overlap nor leave it; these say that the compiler puts nothing between them either.
static_assert(sizeof(RankSlots) == std::size_t{256} * 1024);
static_assert(offsetof(RankSlots, host_paths) == sizeof(Slot));
static_assert(offsetof(RankSlots, rtr) + sizeof(RankSlots::rtr) == sizeof(RankSlots));

}  // namespace sennit::comm
