// Notes who used a channel last, and from which point of its stream. A channel moves its messages in order, each from
// its fork. A message behind another stream's would also wait for all that the other stream has to do before its
// fork, and for ever where that waits for the later message. So a channel is open to a stream only when nothing but
// messages that move already, and the stream's own, are before it.
#pragma once

#include <cstdint>

#include "path/event_pool.h"

namespace sennit::path {

class StreamOwner {
 public:
  /// Returns whether the channel is open to the lane. Never waits. Errors: those of the event.
  Result<bool> open_to(device::Lane& lane) const;
  /// A message of `lane` that starts from `fork` has been enqueued.
  void take(device::Lane& lane, SharedEvent fork);

 private:
  device::Queue queue_;
  SharedEvent fork_;  // null: no message yet
};

}  // namespace sennit::path
