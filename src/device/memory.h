// Holds memory that sennit allocates or maps, and describes memory that it did not.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"

namespace sennit::device {

/// Bytes with an owner: freed or unmapped when the value goes away. Movable only.
class Memory {
 public:
  using Release = std::function<void(void*)>;

  Memory() = default;
  Memory(void* data, std::size_t bytes, Release release) : data_(data), bytes_(bytes), release_(std::move(release)) {}
  Memory(Memory&& other) noexcept { swap(other); }
  Memory& operator=(Memory&& other) noexcept {
    Memory taken(std::move(other));
    swap(taken);
    return *this;
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    if (data_ != nullptr && release_) release_(data_);
  }

  std::byte* data() const { return static_cast<std::byte*>(data_); }
  std::size_t bytes() const { return bytes_; }

 private:
  void swap(Memory& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(release_, other.release_);
  }

  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  Release release_;
};

enum class Place {
  device,    ///< a GPU's memory, or what the host executor calls a device
  pinned,    ///< host memory that copy engines and kernels reach
  managed,   ///< migrates between host and GPUs
  pageable,  ///< ordinary host memory
};

/// Describes the memory that a pointer points at.
struct Location {
  Place place = Place::pageable;
  int device = -1;             ///< index in this process; -1 for host memory
  std::byte* base = nullptr;   ///< start of the allocation; nullptr for pageable memory
  std::size_t bytes = 0;       ///< of the allocation; 0 where it is not known (pageable)
  std::uint64_t identity = 0;  ///< of the allocation: never reused in a process, unlike addresses
  int allocations = 1;         ///< that lie side by side in base and bytes
};

/// Says how another process can map an allocation, or several side by side: a handle of the driver, or open files
/// that travel beside it.
struct Shareable {
  enum class Kind : std::uint32_t { ipc_handle, files, pool };
  struct File {
    UniqueFd fd;
    std::uint64_t bytes = 0;  ///< length to map
  };
  /// Most files: a limit, since each stays open on both sides while they are exchanged.
  static constexpr std::size_t kMostFiles = 256;

  Kind kind = Kind::files;
  std::array<std::byte, 64> handle{};  ///< ipc_handle: cudaIpcMemHandle_t; pool: cudaMemPoolPtrExportData
  std::vector<File> files;             ///< files: memfd, or exports of cuMemCreate handles, in the order of their
                                       ///< addresses; pool: the pool's alone
  std::uint64_t offset = 0;            ///< of the pointer asked about within what gets mapped
  std::uint64_t identity = 0;          ///< Location::identity at the exporter; 0: of several allocations
  std::string device;                  ///< UUID of the device that holds it
  std::uint64_t process = 0;           ///< this_process() of the exporter, to which it is
  std::byte* address = nullptr;        ///< the pointer asked about
};

/// Returns a number that no other process has; 0: there is none.
std::uint64_t this_process();

}  // namespace sennit::device
