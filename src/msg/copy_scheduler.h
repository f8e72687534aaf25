// Has a GPU of this process copy messages and signal their completion: into memory that receivers have exported, or
// out of a sender's.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>

#include "comm/group.h"
#include "msg/copy_batch.h"
#include "msg/ipc_cache.h"
#include "path/transport.h"

namespace sennit::msg {

/// Thread-safe.
class CopyScheduler {
 public:
  /// Messages below never take several paths: a default that spares them the set-up. Tables have them from 16 MiB on
  /// (2 and 4 × H200).
  static constexpr std::uint64_t kLeastSeveral = 8 << 20;
  using MakeExecutor = std::function<Result<std::shared_ptr<device::Executor>>()>;

  /// `executor`: of the memory that is copied. `make_executor`: another one, whose kernels end when the group fails,
  /// for paths by way of the host; asked for at the first long message.
  CopyScheduler(comm::Group& group, device::Executor& executor, IpcCache& ipc_cache, MakeExecutor make_executor)
      : group_(group), executor_(executor), ipc_cache_(ipc_cache), make_executor_(std::move(make_executor)) {}

  struct Message {
    const void* data = nullptr;
    int device = -1;  ///< that holds it
    std::uint64_t bytes = 0;
    int dest = -1;  ///< of the group
    RemoteKey where;
    device::Word* completion = nullptr;  ///< in the control segment
    device::Word value = 0;
  };
  /// A copy in flight: to be kept, and looked at, until the word is there.
  struct Copying {
    std::shared_ptr<const path::Mapping> there;
    std::shared_ptr<InFlight> copy;  ///< null: nothing is
    struct Ends {
      int to, from;
    };
    std::optional<Ends> several{};  ///< devices, where it may take several paths
  };
  /// Describes, for people and behind other words, how such a copy of `bytes` bytes is made; empty: by a copy engine,
  /// over the direct path.
  std::string how(const Copying& copy, std::uint64_t bytes);
  /// Begins the copy, and behind it the writing of the word, or leaves that to CopyBatch. Errors: nothing is under
  /// way, and the receiver may copy.
  Result<Copying> put(const Message& message);
  /// Begins a copy likewise, from memory of `sender` that is mapped for `device`, which does it. Errors: nothing is
  /// under way.
  Result<Copying> get(const BatchedCopy::Copy& copy, int sender, int device,
                      std::shared_ptr<const path::Mapping> there);
  /// Begins those that were collected. Where a device fails the group does: somebody waits for each.
  void begin(std::span<const CopyBatch::One> all);

  /// Makes sure that long messages for memory of `device` may also come by way of this process's service, from now
  /// on. Returns false where they may not.
  bool serves(int device);
  /// Returns the error that a kernel of a host path wrote down when it gave up: a message that has completed may then
  /// not be whole.
  Status fault() const;

 private:
  /// Says which way a lane's copies go.
  enum class Way : std::uint8_t { to_peer, from_peer };
  Result<device::Lane*> lane_of(Way way, int peer, int device, std::uint64_t bytes);
  Result<std::shared_ptr<InFlight>> begin(int device, device::Lane& lane, const BatchedCopy::Copy& copy);
  /// Ends what is enqueued of a copy, which may never be signalled: nothing may be in flight when others are told
  /// that it failed.
  Status fail(device::Lane& lane, Status status);
  BatchedCopy& batched_copy_of(int device);
  Status begin_by_engines(std::span<const CopyBatch::One> some);
  /// Made for the first device that asks; null for others, and where the direct path is all.
  path::Transport* transport(int device);
  Status make_transport(int device);
  Result<std::byte*> resolve(std::uint32_t window, std::uint64_t address, std::uint64_t bytes);

  comm::Group& group_;
  device::Executor& executor_;
  IpcCache& ipc_cache_;
  const MakeExecutor make_executor_;
  std::mutex mutex_;
  std::optional<Status> reachable_;  // the control segment, by GPUs; none: not tried yet
  device::Memory pinned_;
  struct Lanes {
    std::array<std::unique_ptr<device::Lane>, 2> lanes;
    std::size_t next = 0;
  };
  std::map<std::tuple<Way, int, int>, Lanes> lanes_;     // by peer and device
  std::map<int, std::unique_ptr<BatchedCopy>> batched_;  // by device
  std::once_flag once_;
  int device_ = -1;  // of the transport
  std::shared_ptr<device::Executor> transports_;
  std::atomic<const device::Executor*> faults_{
      nullptr};  // the same, once it is there: other threads may ask meanwhile
  std::unique_ptr<path::Transport> transport_;
};

}  // namespace sennit::msg
