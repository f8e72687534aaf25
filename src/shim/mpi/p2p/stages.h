// Two stages that the pieces of a message go through, one behind the other, by way of a few buffers: which piece may
// begin which stage. At the sender they are the copy from the GPU and the send; at the receiver the receive and the
// copy to the GPU. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace sennit::shim::mpi {

class Stages {
 public:
  /// A part of the message, in bytes, and the buffer that it goes by.
  struct Piece {
    std::uint64_t at = 0, bytes = 0;
    int buffer = 0;
    bool operator==(const Piece&) const = default;
  };
  static constexpr int kFirst = 0, kSecond = 1;

  /// Of `bytes` bytes, in pieces of `piece`, by `buffers` buffers.
  Stages(std::uint64_t bytes, std::uint64_t piece, int buffers) : bytes_(bytes), piece_(piece), buffers_(buffers) {}

  /// The next piece that may begin a stage; none while none may. A piece begins the first one when its buffer's last
  /// piece has ended the second, and the second one when it has ended the first.
  std::optional<Piece> next(int stage) const {
    const std::uint64_t number = begun_[stage];
    const std::uint64_t end =
        stage == kSecond ? ended_[kFirst] : std::min(count(), ended_[kSecond] + static_cast<unsigned>(buffers_));
    return number < end ? std::optional(piece(number)) : std::nullopt;
  }
  /// The piece that next() gave has begun.
  void begin(int stage) { ++begun_[stage]; }
  /// The first of those that have begun a stage, and not ended it; none where there is none. They end in order.
  std::optional<Piece> under_way(int stage) const {
    return ended_[stage] < begun_[stage] ? std::optional(piece(ended_[stage])) : std::nullopt;
  }
  /// The piece that under_way() gave has ended.
  void end(int stage) { ++ended_[stage]; }

  /// Whether all pieces have ended both.
  bool over() const { return ended_[kSecond] == count(); }

 private:
  std::uint64_t count() const { return (bytes_ + piece_ - 1) / piece_; }
  Piece piece(std::uint64_t number) const {
    const std::uint64_t at = number * piece_;
    return {at, std::min(piece_, bytes_ - at), static_cast<int>(number % static_cast<unsigned>(buffers_))};
  }

  std::uint64_t bytes_, piece_;
  int buffers_;
  std::uint64_t begun_[2] = {}, ended_[2] = {};  // pieces, by stage
};

}  // namespace sennit::shim::mpi
