// Keeps events that outlive the call that records them: each is given out again once nothing refers to it.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "device/executor.h"

namespace sennit::path {

/// A point of a lane that several may wait for later; no later record takes its place while anyone holds it.
using SharedEvent = std::shared_ptr<device::Event>;

/// Is not thread-safe; but its events may be let go of in any thread.
class EventPool {
 public:
  /// Returns an event for lanes of `device` that is not held by any other call.
  Result<SharedEvent> next(device::Executor& executor, int device);

 private:
  std::map<int, std::vector<SharedEvent>> made_;  // by device; about as many as are held at once
};

}  // namespace sennit::path
