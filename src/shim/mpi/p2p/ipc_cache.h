// GPU memory that processes of a node let each other reach: lent once an allocation, mapped once by each borrower.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "comm/group.h"
#include "path/mappings.h"
#include "stage/gpus.h"

namespace sennit::shim::mpi {

/// How another process reaches memory that is lent. Between processes of one node and one build: plain memory.
struct IpcHandle {
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

/// What fits into a few words of shared memory, for a borrower that mostly knows the rest.
struct RemoteKey {
  std::uint64_t identity = 0;
  std::uint64_t card = 0;     ///< a file in comm::Group that holds the Lent of the whole allocation
  std::uint64_t offset = 0;   ///< as IpcHandle::offset
  std::uint64_t address = 0;  ///< where its owner has it
};

/// Memory of this process that is lent.
struct Exported {
  RemoteKey name;
  int device = -1;  ///< that holds it
};

/// Memory of another process, mapped here.
struct Imported {
  std::shared_ptr<const path::Mapping> mapping;
  int device = -1;  ///< that holds it, where this process sees it

  std::byte* at(std::uint64_t offset) const { return mapping->base + offset; }
};

/// What is lent and then freed is taken back when memory is lent that was not before; who borrowed it unmaps it when
/// something is borrowed that was not before. Thread-safe.
class IpcCache {
 public:
  IpcCache(comm::Group& group, device::Executor& executor)
      : group_(group), executor_(executor), mappings_(executor) {}
  ~IpcCache();

  /// Lends memory of this process, until take_back() of its identity was called as often. Errors: unsupported where
  /// it cannot be shared.
  Result<IpcHandle> export_memory(const void* data, std::uint64_t bytes);
  void release(std::uint64_t identity);
  /// As lend(), told shortly, and nobody takes it back. Errors: those of lend(), out_of_memory.
  Result<Exported> export_by_key(const void* data, std::uint64_t bytes);
  /// Whether lend() would find memory there that can be shared.
  bool can_export(const void* data, std::uint64_t bytes);
  /// The allocation that holds what `owner` (of MPI_COMM_WORLD) lent, for lanes of `device`: it begins at the
  /// mapping's base, and what was lent at the offset from there. Errors: those of Group::fetch and Executor::map;
  /// unsupported where the GPUs do not reach each other.
  Result<Imported> import_memory(int owner, const IpcHandle& lent, int device);
  Result<Imported> import_memory(int owner, const RemoteKey& name, int device);
  /// Unmaps what `owner` lent by that identity, unless somebody still holds it: borrowed once more it is mapped anew.
  void unmap(int owner, std::uint64_t identity);

 private:
  struct Loan {
    IpcHandle lent;
    const std::byte* base = nullptr;  // of the allocation
    std::uint64_t card = 0;           // 0: none yet; else 1 + its file's number
    std::uint64_t used = 0;           // the latest time, of all uses
    int holders = 0;                  // lend() less take_back(): while there are any it stays
  };
  struct Kept {
    Imported borrowed;
    std::optional<std::uint64_t> card;  // the file that is there as long as it is lent
    std::uint64_t used = 0;
  };
  struct Found {
    Loan* loan;
    std::uint64_t offset;  ///< in it
    int device;
  };
  /// With the mutex held: the loan of the allocation that holds all of it.
  Result<Found> find(const void* data, std::uint64_t bytes);
  /// With the mutex held: the loan of the allocation at `location`.
  Result<Loan*> loan_of(const device::Location& location);
  void withdraw(const Loan& loan);
  /// With the mutex held: what was freed since it was lent is lent no more.
  void withdraw_freed();
  /// With the mutex held: unmaps what `owner` does not lend any more.
  void give_back_withdrawn(int owner);
  Result<Imported> import_memory(int owner, const IpcHandle& lent, int device, std::optional<std::uint64_t> card);
  using Key = std::pair<int, std::uint64_t>;  // owner and device, identity
  static constexpr int kMostDevices = 64;     // a limit
  static Key key_of(int owner, std::uint64_t identity, int device) {
    return {owner * kMostDevices + device, identity};
  }

  comm::Group& group_;
  device::Executor& executor_;
  path::Mappings mappings_;
  std::mutex mutex_;
  std::map<std::uint64_t, Loan> lent_;  // by identity
  std::map<Key, Kept> borrowed_;
  std::uint64_t uses_ = 0;
};

}  // namespace sennit::shim::mpi
