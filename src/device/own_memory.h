// Holds what a block of one thread keeps for itself: the primitives of device/block.h that no other block sees.
#pragma once

#include <cstddef>

#include "device/block.h"

namespace sennit::device {

class OwnMemory {
 public:
  template <class Count>
  Count load(const Count* count) const {
    return *count;
  }
  template <class Count>
  void store(Count* count, Count value) {
    *count = value;
  }

  template <class T>
  T& shared() {
    static_assert(sizeof(T) <= kSharedBytes);
    return *reinterpret_cast<T*>(shared_);
  }
  template <class Call>
  void each(unsigned count, Call call) {
    for (unsigned i = 0; i < count; ++i) call(i);
  }

 private:
  alignas(16) std::byte shared_[kSharedBytes];
};

}  // namespace sennit::device
