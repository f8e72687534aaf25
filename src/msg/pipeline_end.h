// Holds one end of a message that goes in chunks.
#pragma once

#include <array>
#include <optional>
#include <utility>

#include "base/backoff.h"
#include "msg/chunk_stages.h"
#include "msg/rndv_pipeline.h"

namespace sennit::msg {

/// The chunks of a message at one of its ends, by buffers of its own.
class Pipeline::End {
 public:
  End(Pipeline& all, std::uint64_t bytes) : all_(all), stages_(bytes, kChunk, kBuffers) {}
  virtual ~End() { give_buffers(); }
  End(const End&) = delete;
  End& operator=(const End&) = delete;

 protected:
  using Chunk = ChunkStages::Chunk;

  /// Errors: no memory.
  Status take_buffers();
  /// Gives the buffers back as soon as all is done, not when the program hears of it: of a window of messages, the
  /// same few buffers, which the processor's caches then hold, serve all.
  void give_buffers();
  std::byte* buffer(const Chunk& chunk) { return buffers_[static_cast<std::size_t>(chunk.buffer)].data(); }

  /// Moves on what can be; returns whether all is done.
  Result<bool> move();
  virtual Status begin(int stage, const Chunk& chunk) = 0;
  virtual Result<bool> ended(int stage, const Chunk& chunk) = 0;

  // By the carrier:
  std::optional<Carrier::Request>& request(const Chunk& chunk) {
    return requests_[static_cast<std::size_t>(chunk.buffer)];
  }
  Result<bool> sent(std::optional<Carrier::Request>& request) {
    auto over = all_.carrier_.sent(*request);
    if (!over || *over) request.reset();
    return over;
  }
  /// Returns the bytes that have come, once they have.
  Result<std::optional<std::uint64_t>> received(std::optional<Carrier::Request>& request) {
    auto came = all_.carrier_.received(*request);
    if (!came || *came) request.reset();
    return came;
  }
  /// Gives up receives that are not to be any more.
  void cancel_requests() {
    for (auto& each : requests_)
      if (each && all_.carrier_.cancel(*each)) (void)received(each);
  }
  // By a GPU:
  Status copy(void* to, const void* from, const Chunk& chunk) {
    const auto number = queue_->copy(to, from, chunk.bytes);
    if (!number) return number.status();
    copies_[static_cast<std::size_t>(chunk.buffer)] = *number;
    return {};
  }
  /// Waits until those that were begun are over: they are from or to the program's buffer, which it may free when it
  /// has heard of an error. Those of a GPU that fails never begin.
  void wait_for_copies() {
    for (const std::uint64_t number : copies_)
      for (Backoff backoff; number != 0; backoff.wait())
        if (const auto over = queue_->done(number); !over || *over) break;
  }
  Result<bool> copied(const Chunk& chunk) { return queue_->done(copies_[static_cast<std::size_t>(chunk.buffer)]); }

  Pipeline& all_;
  stage::CopyQueue* queue_ = nullptr;
  ChunkStages stages_;

 private:
  std::array<device::Memory, kBuffers> buffers_;
  std::array<std::optional<Carrier::Request>, kBuffers> requests_;  // of the chunks in the buffers
  std::array<std::uint64_t, kBuffers> copies_{};                    // the same, by the queue's numbers
};

}  // namespace sennit::msg
