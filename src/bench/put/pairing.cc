#include "bench/put/pairing.h"

#include <bit>

#include "base/other_processes.h"
#include "comm/wait.h"

namespace sennit::bench::put {

namespace {

// The last slots: path/ counts its own from the first.
constexpr int kMeetSlot = comm::ControlSegment::kSlots - 1;
constexpr int kEndSlot = comm::ControlSegment::kSlots - 2;
/// Limits, far above what a batch or a benchmark takes; a rank that dies is noticed at once all the same.
constexpr std::chrono::minutes kMeetLimit{10};
constexpr std::chrono::hours kEndLimit{24};

comm::Slot& slot_of(const comm::Group& group, int rank, int slot) {
  return group.control().slot(group.node_index(rank), slot);
}

}  // namespace

Result<Pairing> Pairing::create(const comm::Group& group) {
  if (group.rank() > 1 || group.size() < 2 || !group.same_node(1 - group.rank()))
    return Status(Code::unsupported, "the two ranks of the pair cannot map each other's memory", {},
                  "Unset SENNIT_NODE, and run both on one host");
  Pairing pairing;
  pairing.group_ = &group;
  return pairing;
}

Result<double> Pairing::exchange(double mine) {
  if (group_ == nullptr) return mine;
  const int peer = 1 - group_->rank();
  comm::Slot& own = slot_of(*group_, group_->rank(), kMeetSlot);
  const comm::Slot& other = slot_of(*group_, peer, kMeetSlot);
  ++met_;
  // Two places in turn: the peer may be one meeting ahead, never two, when this one reads.
  own.words[1 + met_ % 2].store(std::bit_cast<std::uint64_t>(mine), std::memory_order_relaxed);
  tell_others();
  own.words[0].store(met_, std::memory_order_release);
  comm::Waiting what{.operation = "bench put", .sequence = met_, .rank = group_->rank(), .peer = peer};
  what.slot = kMeetSlot;
  auto status = comm::wait_until([&] { return other.words[0].load(std::memory_order_acquire) >= met_; }, group_, what,
                                 kMeetLimit);
  if (!status) return status;
  return std::bit_cast<double>(other.words[1 + met_ % 2].load(std::memory_order_relaxed));
}

Status Pairing::wait_for_end(const comm::Group& group) {
  const comm::Slot& slot = slot_of(group, 0, kEndSlot);
  comm::Waiting what{.operation = "bench put: end", .rank = group.rank(), .peer = 0};
  what.slot = kEndSlot;
  return comm::wait_until([&] { return slot.words[0].load(std::memory_order_acquire) != 0; }, &group, what,
                          kEndLimit);
}

void Pairing::finish(const comm::Group& group) {
  tell_others();
  if (group.rank() == 0) slot_of(group, 0, kEndSlot).words[0].store(1, std::memory_order_release);
}

}  // namespace sennit::bench::put
