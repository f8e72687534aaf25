// Keeps what this process has mapped of its peers' memory: each allocation once, however many windows lie in it (a
// training framework's tensors share few allocations, and the driver opens a handle only once a process).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "device/executor.h"

namespace sennit::path {

/// A mapped allocation; unmapped with its last owner.
struct Mapping {
  device::Memory memory;
  std::byte* base = nullptr;  ///< where the allocation begins, seen from here
};

class Mappings {
 public:
  explicit Mappings(device::Executor& executor) : executor_(executor) {}

  /// Maps the allocation around what `rank` shares, for lanes of `device`. Known by the rank and the allocation's
  /// identity, so that memory freed and allocated again at the same address is mapped anew. Thread-safe. Errors:
  /// those of Executor::map.
  Result<std::shared_ptr<const Mapping>> map(int rank, const device::Shareable& shareable, int device);

 private:
  using Key = std::tuple<int, std::uint64_t, int>;  // rank, identity, device of the lanes

  device::Executor& executor_;
  std::mutex mutex_;
  std::map<Key, std::weak_ptr<const Mapping>> known_;
};

}  // namespace sennit::path
