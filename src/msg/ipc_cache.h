// Lets processes of a node reach each other's GPU memory: it is exported once an allocation, and mapped once by each
// process that imports it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "comm/group.h"
#include "path/mappings.h"
#include "stage/gpus.h"

namespace sennit::msg {

/// Says how another process reaches memory that is exported. Between processes of one node and one build: plain
/// memory.
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

/// Fits into a few words of shared memory, for an importer that mostly knows the rest.
struct RemoteKey {
  std::uint64_t identity = 0;
  std::uint64_t key_file = 0;  ///< a file in comm::Group that holds the IpcHandle of the whole allocation
  std::uint64_t offset = 0;    ///< as IpcHandle::offset
  std::uint64_t address = 0;   ///< where its owner has it
};

/// Memory of this process that is exported.
struct Exported {
  RemoteKey key;
  int device = -1;  ///< that holds it
};

/// Memory of another process, mapped here.
struct Imported {
  std::shared_ptr<const path::Mapping> mapping;
  int device = -1;  ///< that holds it, where this process sees it

  std::byte* at(std::uint64_t offset) const { return mapping->base + offset; }
};

/// Exports of memory that was freed end when other memory is exported for the first time; who imported it unmaps it
/// when other memory is imported for the first time. Thread-safe.
class IpcCache {
 public:
  IpcCache(comm::Group& group, device::Executor& executor)
      : group_(group), executor_(executor), mappings_(executor) {}
  ~IpcCache();

  /// Exports memory of this process, until release() of its identity was called as often. Errors: unsupported where
  /// it cannot be shared.
  Result<IpcHandle> export_memory(const void* data, std::uint64_t bytes);
  void release(std::uint64_t identity);
  /// Exports memory as export_memory() does, in fewer words, and for as long as the memory lives. Errors: those of
  /// export_memory(), and out_of_memory.
  Result<Exported> export_by_key(const void* data, std::uint64_t bytes);
  /// Returns whether export_memory() would find memory there that can be shared.
  bool can_export(const void* data, std::uint64_t bytes);
  /// Maps the allocation that holds what `owner`, a rank of the group, has exported, for lanes of `device`: it begins
  /// at the mapping's base, and what was exported at the offset from there. Errors: those of Group::fetch and
  /// Executor::map; unsupported where the GPUs do not reach each other.
  Result<Imported> import_memory(int owner, const IpcHandle& handle, int device);
  Result<Imported> import_memory(int owner, const RemoteKey& key, int device);
  /// Unmaps what `owner` has exported by that identity, unless somebody still holds it: imported once more it is
  /// mapped anew.
  void unmap(int owner, std::uint64_t identity);

 private:
  struct Export {
    IpcHandle handle;
    const std::byte* base = nullptr;  // of the allocation
    std::uint64_t key_file = 0;       // 0: none yet; else 1 + its file's number
    std::uint64_t used = 0;           // the latest time, of all uses
    int holders = 0;                  // export_memory() less release(): while there are any it stays
  };
  struct Kept {
    Imported imported;
    std::optional<std::uint64_t> key_file;  // a file that is there as long as the export
    std::uint64_t used = 0;
  };
  struct Found {
    Export* exported;
    std::uint64_t offset;  ///< in it
    int device;
  };
  /// Finds the export of the allocation that holds all of it, with the mutex held.
  Result<Found> find(const void* data, std::uint64_t bytes);
  /// Returns the export of the allocation at `location`, with the mutex held.
  Result<Export*> export_of(const device::Location& location);
  void withdraw(const Export& exported);
  /// Ends exports of memory that was freed, with the mutex held.
  void withdraw_freed();
  /// Unmaps what `owner` does not export any more, with the mutex held.
  void unmap_withdrawn(int owner);
  Result<Imported> import_memory(int owner, const IpcHandle& handle, int device,
                                 std::optional<std::uint64_t> key_file);
  using Key = std::pair<int, std::uint64_t>;  // owner and device, identity
  static constexpr int kMostDevices = 64;     // a limit
  static Key key_of(int owner, std::uint64_t identity, int device) {
    return {owner * kMostDevices + device, identity};
  }

  comm::Group& group_;
  device::Executor& executor_;
  path::Mappings mappings_;
  std::mutex mutex_;
  std::map<std::uint64_t, Export> exports_;  // by identity
  std::map<Key, Kept> imports_;
  std::uint64_t uses_ = 0;
};

}  // namespace sennit::msg
