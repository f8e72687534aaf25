#include "path/doorbell.h"

#include "base/other_processes.h"

namespace sennit::path {

// Whoever rings counts, then looks whether the owner sleeps; the owner says that it sleeps, then looks at the count:
// one of both sees the other.

bool Doorbell::ring() {
  tell_others();
  slot_.rings.fetch_add(1, std::memory_order_seq_cst);
  return slot_.asleep.load(std::memory_order_seq_cst) != 0;
}

std::uint64_t Doorbell::heard() const {
  const std::uint64_t rings = slot_.rings.load(std::memory_order_acquire);
  heard_others();
  return rings;
}

bool Doorbell::may_sleep(std::uint64_t last) {
  slot_.asleep.store(1, std::memory_order_seq_cst);
  return slot_.rings.load(std::memory_order_seq_cst) == last;
}

void ring_bell(comm::Group& group, int peer) {
  if (Doorbell(group.slots(peer).doorbell).ring()) group.nudge(peer);
}

}  // namespace sennit::path
