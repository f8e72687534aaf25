// Tells which processes of this machine work with a GPU. Kernels of two processes on one GPU take turns of
// milliseconds, so a kernel that waits for a peer on the same GPU, or for one whose GPU another job uses, waits for
// many of them.
#pragma once

#include <sys/types.h>

#include <string_view>
#include <vector>

namespace sennit::comm {

/// Claims the device for this process, until the process ends, and returns the other processes that have claimed it:
/// their ids, 0 for one in another PID namespace. Claims in another network namespace are not seen, and no claims at
/// all where there is no /proc. `uuid`: the device's. Thread-safe; a second claim of one process only looks again.
std::vector<pid_t> claim_device(std::string_view uuid);

}  // namespace sennit::comm
