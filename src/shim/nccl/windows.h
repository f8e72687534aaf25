// Symmetric windows of a communicator: memory that the program has registered with NCCL, and that calls of sennit's
// may use straight.
//
// NCCL lets a rank give up a window and free its memory without a word to the others, as soon as its own calls are
// done. So only such memory is used here as may be freed while peers have it mapped, as that of ncclMemAlloc, and
// each rank unmaps that of the others by itself. That a call's buffers lie in windows on all ranks or on none, and at
// the same offset, NCCL demands of the program.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "coll/collectives.h"
#include "node/node.h"
#include "path/registry.h"
#include "shim/nccl/abi/abi.h"

namespace sennit::shim::nccl {

/// Thread-safe, but for open(), which ranks call in one order.
class SymmetricWindows {
 public:
  /// Both outlive this object.
  SymmetricWindows(node::Node& node, coll::Collectives& collectives)
      : node_(node), registry_(node), collectives_(collectives) {}

  /// Collective: opens `bytes` bytes at `data` as a window, of which NCCL says `handle`; null: NCCL has none. Errors:
  /// unsupported where that cannot be, on every rank; those of a lost rank, which end what waits on all.
  Status open(void* data, std::uint64_t bytes, WindowHandle handle);
  /// Gives up a window: no call uses it from now on. What other ranks have there is unmapped once this rank's calls
  /// are done.
  void close(WindowHandle handle);
  /// Unmaps all of them: nothing runs any more.
  void unmap();
  bool any() const;

 private:
  /// Unmaps those that were given up, if no call uses them any more.
  void unmap_closed();

  node::Node& node_;
  path::Registry registry_;
  coll::Collectives& collectives_;
  mutable std::mutex mutex_;
  std::map<WindowHandle, std::shared_ptr<path::Window>> open_;
  std::vector<std::shared_ptr<path::Window>> closed_;  // still mapped
};

}  // namespace sennit::shim::nccl
