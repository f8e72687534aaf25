#include "bench/put/pairing.h"

#include <bit>

#include "base/other_processes.h"
#include "comm/wait.h"

namespace sennit::bench::put {

namespace {

/// Limits, far above what a batch or a benchmark takes; a rank that dies is noticed at once all the same.
constexpr std::chrono::minutes kMeetLimit{10};
constexpr std::chrono::hours kEndLimit{24};

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
  comm::MeetingSlot& own = group_->slots(group_->rank()).meeting;
  const comm::MeetingSlot& other = group_->slots(peer).meeting;
  ++met_;
  // Two places in turn: the peer may be one meeting ahead, never two, when this one reads.
  own.given[met_ % 2].store(std::bit_cast<std::uint64_t>(mine), std::memory_order_relaxed);
  tell_others();
  own.met.store(met_, std::memory_order_release);
  comm::Waiting what{.operation = "bench put", .sequence = met_, .rank = group_->rank(), .peer = peer};
  auto status =
      comm::wait_until([&] { return other.met.load(std::memory_order_acquire) >= met_; }, group_, what, kMeetLimit);
  if (!status) return status;
  return std::bit_cast<double>(other.given[met_ % 2].load(std::memory_order_relaxed));
}

Status Pairing::wait_for_end(const comm::Group& group) {
  const auto& ended = group.slots(0).meeting.ended;
  comm::Waiting what{.operation = "bench put: end", .rank = group.rank(), .peer = 0};
  return comm::wait_until([&] { return ended.load(std::memory_order_acquire) != 0; }, &group, what, kEndLimit);
}

void Pairing::finish(const comm::Group& group) {
  tell_others();
  if (group.rank() == 0) group.slots(0).meeting.ended.store(1, std::memory_order_release);
}

}  // namespace sennit::bench::put
