// How ranks wait for each other while their own messages must go on.
#pragma once

#include <sched.h>

namespace sennit::shim::mpi {

/// Between two looks at what others do: soon at first, then leaving the processor to them. Unlike comm::wait_until()
/// it waits as long as MPI would, and never sleeps: this rank's messages move only while it looks at them.
class Patience {
 public:
  void wait() {
    constexpr int kSpins = 2000;  // a default: some 20 µs
    if (++spins_ > kSpins) sched_yield();
  }

 private:
  int spins_ = 0;
};

}  // namespace sennit::shim::mpi
