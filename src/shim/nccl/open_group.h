// Keeps what waits for the end of a thread's group (ncclGroupStart … ncclGroupEnd).
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "shim/nccl/abi/abi.h"
#include "shim/nccl/abi/config.h"
#include "shim/nccl/group.h"
#include "shim/nccl/rendezvous.h"

namespace sennit::shim::nccl {

using Rendezvous = std::variant<LocalRendezvous, GrowRendezvous>;

/// A communicator that NCCL leaves at `made`: before its function returns, at the end of the group, or later.
struct PendingComm {
  Comm* made = nullptr;
  std::string key;  ///< of a LocalRendezvous; of one that grows, its ranks find the key when they meet
  std::shared_ptr<const Rendezvous> rendezvous;
  Config config;
  /// A part of a communicator that does not block comes while the program goes on: the one that it is made of (null:
  /// a new rank of one that grows), and how long that is waited for.
  Comm parent = nullptr;
  std::chrono::steady_clock::time_point until{};
};

/// Memory that the program registers with NCCL, as a window at `made`.
struct PendingWindow {
  Comm comm;
  void* data;
  std::size_t bytes;
  WindowHandle* made;
};

struct OpenGroup {
  int depth = 0;  ///< 0: there is no group
  std::vector<GroupedCall> calls;
  std::vector<PendingComm> comms;
  std::vector<PendingWindow> windows;

  /// Returns the calling thread's.
  static OpenGroup& mine() {
    thread_local OpenGroup group;
    return group;
  }
};

}  // namespace sennit::shim::nccl
