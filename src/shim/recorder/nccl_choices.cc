#include "shim/recorder/nccl_choices.h"

namespace sennit::shim::recorder {

void EventMasks::add(const void* communicator, const Mask& mask) {
  const std::lock_guard lock(mutex_);
  masks_[communicator] = mask;
  set();
}

void EventMasks::remove(const void* communicator) {
  const std::lock_guard lock(mutex_);
  masks_.erase(communicator);
}

void EventMasks::ask(int by) {
  const std::lock_guard lock(mutex_);
  asking_ += by;
  set();
}

/// NCCL may look at any time: what is always told is never left out for a moment.
void EventMasks::set() const {
  for (const auto& [communicator, one] : masks_) {
    int wanted = 0;
    for (const auto& [other, mask] : masks_)
      if (mask.at == one.at) wanted |= mask.always | (asking_ != 0 ? mask.asked : 0);
    __atomic_store_n(one.at, wanted, __ATOMIC_RELAXED);
  }
}

EventMasks& event_masks() {
  static auto* const made = new EventMasks;  // never destroyed: threads may be in calls while the process ends
  return *made;
}

}  // namespace sennit::shim::recorder
