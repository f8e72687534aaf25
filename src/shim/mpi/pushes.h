// Copies of messages into memory that their receivers lent, by a GPU of this process, which also tells of their end.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "comm/group.h"
#include "path/transport.h"
#include "shim/mpi/loans.h"

namespace sennit::shim::mpi {

/// Thread-safe.
class Pushes {
 public:
  /// Messages below never take several paths: a default that spares them the set-up. Tables have them from 16 MiB on
  /// (2 and 4 × H200).
  static constexpr std::uint64_t kLeastSeveral = 8 << 20;
  using MakeExecutor = std::function<Result<std::shared_ptr<device::Executor>>()>;

  /// `executor`: of the memory that is copied. `make_executor`: another one, whose kernels end when the group fails,
  /// for paths by way of the host; asked for at the first long message.
  Pushes(comm::Group& group, device::Executor& executor, Loans& loans, MakeExecutor make_executor)
      : group_(group), executor_(executor), loans_(loans), make_executor_(std::move(make_executor)) {}

  struct Message {
    const void* data = nullptr;
    int device = -1;  ///< that holds it
    std::uint64_t bytes = 0;
    int dest = -1;  ///< of MPI_COMM_WORLD
    LoanName where;
    device::Word* told = nullptr;  ///< in the control segment
    device::Word value = 0;
  };
  /// What is under way: to be kept until the word is there.
  struct UnderWay {
    std::shared_ptr<const path::Mapping> there;
    device::Lane* lane = nullptr;  ///< asked now and then, it says whether the word will come
  };
  /// Begins the copy, and behind it the writing of the word. Errors: nothing is under way, and the receiver may copy.
  Result<UnderWay> push(const Message& message);

  /// Whether long messages for memory of `device` may come by way of this process's service too, from now on.
  bool serves(int device);
  /// What a kernel of a host path that gave up wrote down: a message whose end was told may then not be whole.
  Status fault() const;

 private:
  Result<device::Lane*> lane_to(int dest, int device);
  /// Made for the first device that asks; null for others, and where the direct path is all.
  path::Transport* transport(int device);
  Status make_transport(int device);
  Result<std::byte*> resolve(std::uint32_t window, std::uint64_t address, std::uint64_t bytes);

  comm::Group& group_;
  device::Executor& executor_;
  Loans& loans_;
  const MakeExecutor make_executor_;
  std::mutex mutex_;
  std::optional<Status> reachable_;  // the control segment, by GPUs; none: not tried yet
  device::Memory pinned_;
  std::map<std::pair<int, int>, std::unique_ptr<device::Lane>> lanes_;  // by receiver and device
  std::once_flag once_;
  int device_ = -1;  // of the transport
  std::shared_ptr<device::Executor> transports_;
  std::atomic<const device::Executor*> faults_{
      nullptr};  // the same, once it is there: other threads may ask meanwhile
  std::unique_ptr<path::Transport> transport_;
};

}  // namespace sennit::shim::mpi
