// Wakes the service thread of a peer of this node: a futex in the control segment.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "comm/group.h"

namespace sennit::path {

class Bell {
 public:
  explicit Bell(comm::DoorbellSlot& slot) : slot_(slot) {}
  Bell(const comm::Group& group, int rank) : Bell(group.slots(rank).doorbell) {}

  std::uint32_t heard() const;
  void ring();
  /// For the bell's owner alone: returns when it was rung since heard() gave `last`, or after `limit`.
  void wait(std::uint32_t last, std::chrono::milliseconds limit);

 private:
  comm::DoorbellSlot& slot_;  // asleep: 1 while the owner sleeps or is about to; only then does ringing cost a call
};

}  // namespace sennit::path
