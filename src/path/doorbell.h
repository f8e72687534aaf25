// Tells the proxy thread of a peer of this node that there is something to look at, through a word in the control
// segment. Only a thread that sleeps is also sent a message, which costs time.
#pragma once

#include <cstdint>

#include "comm/group.h"

namespace sennit::path {

/// One rank's doorbell. Its owner looks at what others may have asked of it between heard() and may_sleep().
class Doorbell {
 public:
  explicit Doorbell(comm::DoorbellSlot& slot) : slot_(slot) {}

  /// Rings, for others: returns true if the owner sleeps, and has to be woken.
  bool ring();

  /// Returns, for the owner, a number that changes with every ring.
  std::uint64_t heard() const;
  /// Says that the owner sleeps from now on. Returns false if the doorbell was rung since heard() gave `last`; then
  /// it must not sleep.
  bool may_sleep(std::uint64_t last);
  void wake() { slot_.asleep.store(0, std::memory_order_relaxed); }

 private:
  comm::DoorbellSlot& slot_;
};

/// Rings the doorbell of `peer`, and wakes its proxy thread where that sleeps.
void ring_bell(comm::Group& group, int peer);

}  // namespace sennit::path
