// The deadline of what takes microseconds when it works: far enough for the slowest machine.
#pragma once

#include "comm/deadline.h"

namespace sennit::comm {

inline Deadline soon() {
  return Deadline::after(std::chrono::seconds(10));
}

}  // namespace sennit::comm
