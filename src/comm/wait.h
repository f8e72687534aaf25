// Waits on the host, bounded, and awake to deaths and aborts: there is no other way to wait.
#pragma once

#include <sched.h>

#include <optional>
#include <string>
#include <thread>

#include "base/other_processes.h"
#include "comm/group.h"

namespace sennit::comm {

/// Says what is being waited for, in the words of the error message.
struct Waiting {
  std::string operation;       ///< "put", "allreduce two_shot", …
  std::uint64_t sequence = 0;  ///< of the operation, counted by whoever started it
  int rank = -1;               ///< that waits
  int peer = -1;               ///< whose move it is; -1 when any rank's
  std::uint64_t bytes = 0;
};

/// timed_out with every field of `what`, who the peer is and what it did last.
Status wait_timed_out(const Group* group, const Waiting& what, Clock::duration limit);
/// Returns the group's failure as seen by this wait; peer_lost when what.peer has left; ok while there is hope.
Status wait_is_hopeless(const Group* group, const Waiting& what);
/// SENNIT_TIMEOUT, or its default where it is not valid (Group::create reports that).
Clock::duration default_wait_limit();

/// Returns ok as soon as ready() holds. ready() is called often, from this thread; it must be cheap and bring the
/// acquire ordering that the data behind it needs. `group` may be null (there is no peer to lose); `limit` is by
/// default the group's, else SENNIT_TIMEOUT. Notes `what` as this rank's last operation once it has to wait. Spins
/// some microseconds (a peer on another core answers within that), then yields (ranks may outnumber cores), then
/// sleeps up to 200 µs at a time. Errors: timed_out naming all fields; peer_lost (also when what.peer has left in
/// order); aborted.
template <class Ready>
Status wait_until(Ready is_ready, const Group* group, const Waiting& what,
                  std::optional<Clock::duration> limit = std::nullopt) {
  const auto ready = [&is_ready] {
    const bool yes = is_ready();
    if (yes) heard_others();
    return yes;
  };
  for (int spins = 0; spins < 256; ++spins) {
    if (ready()) return {};
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  if (group != nullptr) group->note(what.operation, what.sequence, what.peer, what.bytes);
  const Clock::duration bound = limit.value_or(group != nullptr ? group->limit() : default_wait_limit());
  const Clock::time_point start = Clock::now();
  for (unsigned round = 0;; ++round) {
    if (ready()) return {};
    const Clock::duration waited = Clock::now() - start;
    // Looked at once more after each verdict: the last thing a peer did before it went may have been our signal.
    if (group != nullptr && (group->failed() || round % 64 == 63))
      if (Status status = wait_is_hopeless(group, what); !status.ok()) return ready() ? Status() : status;
    if (waited > bound) return ready() ? Status() : wait_timed_out(group, what, bound);
    if (waited < milliseconds(1))
      ::sched_yield();
    else
      std::this_thread::sleep_for(std::min<Clock::duration>(waited / 16, std::chrono::microseconds(200)));
  }
}

}  // namespace sennit::comm
