#include "path/bell.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

#include "base/other_processes.h"

namespace sennit::path {

void Bell::ring() {
  tell_others();
  // Ring, then look whether anybody sleeps; the sleeper says so, then looks for rings (inside the call): one of both
  // sees the other.
  slot_.rings.fetch_add(1, std::memory_order_seq_cst);
  if (slot_.asleep.load(std::memory_order_seq_cst) != 0)
    (void)syscall(SYS_futex, &slot_.rings, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

std::uint32_t Bell::heard() const {
  const std::uint32_t rings = slot_.rings.load(std::memory_order_acquire);
  heard_others();
  return rings;
}

void Bell::wait(std::uint32_t last, std::chrono::milliseconds limit) {
  const timespec bound{static_cast<std::time_t>(limit.count() / 1000), (limit.count() % 1000) * 1'000'000};
  slot_.asleep.store(1, std::memory_order_seq_cst);
  (void)syscall(SYS_futex, &slot_.rings, FUTEX_WAIT, last, &bound, nullptr, 0);
  slot_.asleep.store(0, std::memory_order_relaxed);
}

}  // namespace sennit::path
