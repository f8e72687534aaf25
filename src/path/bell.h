// Wakes the service thread of a peer of this node: a futex in the control segment.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "comm/group.h"

namespace sennit::path {

/// Slots of a rank in the control segment that path/ uses: one bell, then one a peer and errand.
inline constexpr int kBellSlot = 0;
inline constexpr int kOfferSlot = 1;

class Bell {
 public:
  explicit Bell(comm::Slot& slot)
      : word_(reinterpret_cast<std::atomic<std::uint32_t>*>(&slot.words[0])), asleep_(slot.words[1]) {}
  Bell(const comm::Group& group, int rank) : Bell(group.control().slot(group.node_index(rank), kBellSlot)) {}

  std::uint32_t heard() const;
  void ring();
  /// For the bell's owner alone: returns when it was rung since heard() gave `last`, or after `limit`.
  void wait(std::uint32_t last, std::chrono::milliseconds limit);

 private:
  std::atomic<std::uint32_t>* word_;
  std::atomic<std::uint64_t>& asleep_;  // 1 while the owner sleeps or is about to: only then does ringing cost a call
};

}  // namespace sennit::path
