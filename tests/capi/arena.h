// Numbers of collectives in symmetric windows: pieces of a window that every rank takes in the same order.
#pragma once

#include <map>
#include <optional>

#include "capi_rank.h"

namespace sennit::capi {

/// Memory of a communicator in a symmetric window, cut into pieces of one size.
class Arena {
 public:
  static constexpr std::uint64_t kPiece = 256 * 1024, kPieces = 24;

  explicit Arena(sennit_comm* comm) : comm_(comm) {
    must(sennit_memory_allocate(comm, kPiece * kPieces, &data_));
    must(sennit_register_symmetric(comm, data_, kPiece * kPieces, &window_));
  }
  /// Collective: while all ranks are there.
  void close() {
    must(sennit_deregister(window_));
    must(sennit_memory_free(comm_, data_));
  }
  /// The next one; null: there is none, or it is too small.
  void* take(std::uint64_t bytes) {
    const std::uint64_t piece = taken_++;
    return bytes > kPiece || piece >= kPieces ? nullptr : static_cast<std::byte*>(data_) + piece * kPiece;
  }
  void reuse() { taken_ = 0; }

 private:
  sennit_comm* comm_;
  void* data_ = nullptr;
  sennit_window* window_ = nullptr;
  std::uint64_t taken_ = 0;
};

/// A Space of Exercise that lies in its communicator's arena while `in_arena` is set, if it has room.
template <class Space>
class Placed {
 public:
  Placed(sennit_comm* comm, std::uint64_t bytes) : piece_(in_arena ? arenas.at(comm).take(bytes) : nullptr) {
    if (piece_ == nullptr) own_.emplace(comm, bytes);
  }
  void* data() { return piece_ != nullptr ? piece_ : own_->data(); }
  void put(void* to, const void* from, std::uint64_t bytes) { Space::copy(to, from, bytes); }
  void get(void* to, const void* from, std::uint64_t bytes) { Space::copy(to, from, bytes); }

  static inline std::map<sennit_comm*, Arena> arenas;
  static inline bool in_arena = false;

 private:
  void* piece_;
  std::optional<Space> own_;
};

}  // namespace sennit::capi
