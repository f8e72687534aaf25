// The three stages of a collective over several nodes, overlapped chunk by chunk.
//
// 1. The ranks of a node leave each its part of the chunk in memory of its GPU: by a collective of sennit's.
// 2. The part goes down to host memory, over the rail to the parts of the same place in other nodes, and up again.
// 3. A second collective of the node brings the parts to where the ranks want the chunk.
//
// Stage 1 of the next chunks is enqueued before stage 2 of this one, which keeps the calling thread; so GPUs, copy
// engines and network work at once. Every rank of a node enqueues stages 1 and 3 in the same order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "path/node.h"

namespace sennit::net {

/// A piece of a message.
struct Chunk {
  std::uint64_t begin = 0, bytes = 0;  ///< in the message
  bool whole = false;                  ///< it is not divided: its one part is a single rank's of the node
};

/// Chunks of about `most` bytes, of which each has `parts` equal parts of whole packs, and behind them what cannot be
/// divided so; `whole`: none is divided. Pure.
std::vector<Chunk> chunks_of(std::uint64_t bytes, std::uint64_t most, int parts, bool whole);

/// What a collective does in each stage; an absent one is left out on this rank.
struct Stages {
  using Enqueue = std::function<Status(const Chunk&, std::byte* part, device::Lane& lane)>;
  Enqueue gather;                                                       ///< leaves the part
  std::function<Status(std::byte* part, std::uint64_t bytes)> between;  ///< blocks; in host memory
  Enqueue spread;                                                       ///< takes it from there
  bool down = false, up = false;  ///< whether the part goes down before `between`, and up after
};

class Relay {
 public:
  /// Chunks under way at once. A default: one in each stage.
  static constexpr std::size_t kDepth = 3;

  explicit Relay(path::Node& node) : node_(node) {}

  /// Runs the stages of all chunks in their order; returns when all is done. `bytes_of`: of this rank's part of a
  /// chunk; 0: it has none. Errors: out_of_memory, those of the stages, and the node's; they end the node, since its
  /// ranks would wait for each other in vain.
  Status run(std::span<const Chunk> chunks, const Stages& stages,
             const std::function<std::uint64_t(const Chunk&)>& bytes_of);

 private:
  /// A chunk's memory.
  struct Slot {
    device::Memory part, host;
    std::unique_ptr<device::Event> gathered, down, up, spread;
  };
  Status prepare(std::uint64_t bytes);
  Status run_all(std::span<const Chunk> chunks, const Stages& stages,
                 const std::function<std::uint64_t(const Chunk&)>& bytes_of);
  Status begin(const Chunk& chunk, std::uint64_t bytes, const Stages& stages, Slot& slot);
  Status end(const Chunk& chunk, std::uint64_t bytes, const Stages& stages, Slot& slot);
  Status wait_for(device::Event& event) const;

  path::Node& node_;
  std::unique_ptr<device::Lane> down_, up_;
  std::vector<Slot> slots_;
  std::uint64_t room_ = 0;
};

}  // namespace sennit::net
