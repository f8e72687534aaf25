// Takes the chunks of a message through two stages, one behind the other, by way of a few buffers: it says which
// chunk may begin which stage. At the sender they are the copy from the GPU and the send; at the receiver the receive
// and the copy to the GPU. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace sennit::msg {

class ChunkStages {
 public:
  /// A part of the message, in bytes, and the buffer that it goes by.
  struct Chunk {
    std::uint64_t at = 0, bytes = 0;
    int buffer = 0;
    bool operator==(const Chunk&) const = default;
  };
  static constexpr int kFirst = 0, kSecond = 1;

  /// Divides `bytes` bytes into chunks of `chunk`, which share `buffers` buffers.
  ChunkStages(std::uint64_t bytes, std::uint64_t chunk, int buffers)
      : bytes_(bytes), chunk_(chunk), buffers_(buffers) {}

  /// Returns the next chunk that may begin a stage; no value while no chunk may. A chunk begins the first one when
  /// its buffer's last chunk has ended the second, and the second one when it has ended the first.
  std::optional<Chunk> next(int stage) const {
    const std::uint64_t number = begun_[stage];
    const std::uint64_t end =
        stage == kSecond ? ended_[kFirst] : std::min(count(), ended_[kSecond] + static_cast<unsigned>(buffers_));
    return number < end ? std::optional(chunk(number)) : std::nullopt;
  }
  /// The chunk that next() gave has begun.
  void begin(int stage) { ++begun_[stage]; }
  /// Returns the first chunk that has begun a stage, and not ended it; no value where there is no such chunk. They
  /// end in order.
  std::optional<Chunk> under_way(int stage) const {
    return ended_[stage] < begun_[stage] ? std::optional(chunk(ended_[stage])) : std::nullopt;
  }
  /// The chunk that under_way() gave has ended.
  void end(int stage) { ++ended_[stage]; }

  /// Returns whether all chunks have ended both stages.
  bool over() const { return ended_[kSecond] == count(); }

 private:
  std::uint64_t count() const { return (bytes_ + chunk_ - 1) / chunk_; }
  Chunk chunk(std::uint64_t number) const {
    const std::uint64_t at = number * chunk_;
    return {at, std::min(chunk_, bytes_ - at), static_cast<int>(number % static_cast<unsigned>(buffers_))};
  }

  std::uint64_t bytes_, chunk_;
  int buffers_;
  std::uint64_t begun_[2] = {}, ended_[2] = {};  // chunks, by stage
};

}  // namespace sennit::msg
