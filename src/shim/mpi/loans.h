// GPU memory that processes of a node let each other reach: lent once an allocation, mapped once by each borrower.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "comm/group.h"
#include "path/mappings.h"
#include "shim/mpi/gpus.h"

namespace sennit::shim::mpi {

/// How another process reaches memory that is lent. Between processes of one node and one build: plain memory.
struct Lent {
  static constexpr std::size_t kMostFiles = 32;
  struct File {
    std::uint64_t number, bytes;
  };

  std::uint32_t kind;  ///< device::Shareable
  std::uint32_t files;
  std::uint64_t offset;  ///< of the memory in what gets mapped
  std::uint64_t identity;
  char device[64];
  std::byte handle[64];
  File file[kMostFiles];
};

/// Thread-safe.
class Loans {
 public:
  Loans(comm::Group& group, device::Executor& executor) : group_(group), executor_(executor), mappings_(executor) {}
  ~Loans();

  /// Lends memory of this process. Errors: unsupported where it cannot be shared.
  Result<Lent> lend(const void* data, std::uint64_t bytes);
  /// The allocation that holds what `owner` (of MPI_COMM_WORLD) lent, for lanes of `device`: it begins at the
  /// mapping's base, and what was lent at Lent::offset from there. Errors: those of Group::fetch and Executor::map;
  /// unsupported where the GPUs do not reach each other.
  Result<std::shared_ptr<const path::Mapping>> borrow(int owner, const Lent& lent, int device);

 private:
  comm::Group& group_;
  device::Executor& executor_;
  path::Mappings mappings_;
  std::mutex mutex_;
  std::map<std::uint64_t, Lent> lent_;                                                      // by identity
  std::map<std::pair<int, std::uint64_t>, std::shared_ptr<const path::Mapping>> borrowed_;  // owner and identity
};

}  // namespace sennit::shim::mpi
