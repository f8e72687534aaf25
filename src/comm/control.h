// Lays out the memory that all ranks of a node share for coordination: signals' slots, and what each rank did last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/unique_fd.h"
#include "comm/slot_map.h"

namespace sennit::comm {

/// Describes what a rank is doing, for the error message of a peer that waits for it.
struct Operation {
  std::string name;  ///< first 39 bytes are kept
  std::uint64_t sequence = 0;
  int peer = -1;  ///< -1: none in particular
  std::uint64_t bytes = 0;
};

/// The segment, mapped. Memory of a memfd: it has no name, and is gone with the last process that maps it.
/// Its size is sealed, so no peer can shrink it under us (which would be SIGBUS).
class ControlSegment {
 public:
  /// Makes a segment for `ranks` ranks of a node, all zero: 256 KiB a rank, of which only pages in use take memory.
  /// Errors: unsupported (more than RankSlots::kMostRanks); out_of_memory; system_error.
  static Result<ControlSegment> make(int ranks);
  /// Maps a segment that a peer made. Errors: corrupt unless it is sealed and has the size for `ranks`.
  static Result<ControlSegment> open(UniqueFd file, int ranks);

  ControlSegment() = default;
  ControlSegment(ControlSegment&& other) noexcept;
  ControlSegment& operator=(ControlSegment&& other) noexcept;
  ~ControlSegment();

  /// Returns the file to pass to peers; it stays owned by the segment.
  int file() const { return file_.get(); }
  int ranks() const { return ranks_; }

  /// Returns the words of the node's rank number `member` (its position in Group::node_ranks()).
  RankSlots& slots(int member) const;
  /// Returns all of it, for executors that make it visible to devices.
  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

  /// Records what member is doing. Wait-free; of calls at the same time from several threads of one rank, one wins.
  void note(int member, std::string_view name, std::uint64_t sequence, int peer, std::uint64_t bytes) const;
  /// Returns what a member did last; its name is empty when it did nothing yet, or was killed while noting it.
  Operation last(int member) const;

 private:
  struct Record;
  Record& record(int member) const;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  int ranks_ = 0;
  UniqueFd file_;
};

}  // namespace sennit::comm
