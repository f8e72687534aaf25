#include "path/stream_owner.h"

namespace sennit::path {

Result<bool> StreamOwner::open_to(device::Lane& lane) const {
  if (fork_ == nullptr || queue_.is_same_stream(lane.queue())) return true;
  // Messages before the last one started before it did: it was asked the same of them.
  return fork_->done();
}

void StreamOwner::take(device::Lane& lane, SharedEvent fork) {
  queue_ = lane.queue();
  fork_ = std::move(fork);
}

}  // namespace sennit::path
