// The words by which the two ends of a partitioned message tell each other how far they are: shared memory that
// either process and its GPU reach. The sender's end makes it, and the receiver's opens it.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/unique_fd.h"
#include "device/executor.h"
#include "device/word.h"

namespace sennit::path {

/// The beginning of that memory; all zero at first. Who writes what:
struct PartitionedHeader {
  /// The receiver: the number of its latest start. Nothing of a start may land before it is here.
  alignas(64) std::atomic<device::Word> started;
  std::atomic<device::Word> receiver_freed;  ///< 1: the receiver's end is gone
  /// The sender: what it knows of the receiver's memory.
  alignas(64) std::atomic<device::Word> mapping;
  std::atomic<device::Word> sender_freed;  ///< 1: the sender's end is gone

  static constexpr device::Word kUnknown = 0, kMapped = 1, kFailed = 2, kUnmapped = 3;
};
static_assert(std::atomic<device::Word>::is_always_lock_free);

/// Behind it are two words for each of the sender's partitions, which have the number of a start. `arrived`, by the
/// sender's lane, behind the bytes: the partition has arrived in this start. `ready`, by a stream of the sender's,
/// and read by its host: it was made ready before it could travel.
class PartitionedWords {
 public:
  PartitionedWords() = default;
  /// Makes it, and the file by which a peer opens it. Errors: out_of_memory, those of Executor::pin.
  static Result<PartitionedWords> create(device::Executor& executor, std::uint32_t partitions, UniqueFd& file);
  /// Errors: corrupt where the file is too small for so many partitions; out_of_memory, those of Executor::pin.
  static Result<PartitionedWords> open(device::Executor& executor, std::uint32_t partitions, int file);

  explicit operator bool() const { return memory_.data() != nullptr; }
  PartitionedHeader& header() const { return *reinterpret_cast<PartitionedHeader*>(memory_.data()); }
  device::Word* arrived(std::uint32_t partition) const { return words() + partition; }
  device::Word* ready(std::uint32_t partition) const { return words() + partitions_ + partition; }

 private:
  static std::size_t bytes_for(std::uint32_t partitions);
  device::Word* words() const { return reinterpret_cast<device::Word*>(memory_.data() + sizeof(PartitionedHeader)); }

  device::Memory memory_, pinned_;  // pinned_: its registration, ends first
  std::uint32_t partitions_ = 0;
};

}  // namespace sennit::path
