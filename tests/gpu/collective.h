// What scenarios of collectives share: the numbers of every rank and call, and a graph that is replayed.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "buffer.h"
#include "member.h"

namespace sennit::gpu {

inline std::int32_t sample(int rank, std::uint64_t i, std::uint64_t call) {
  return std::int32_t((i * 2654435761u + call * 40503u) >> 8) % 1000 + rank * 7;
}
inline std::vector<std::int32_t> samples(int rank, std::uint64_t count, std::uint64_t call) {
  std::vector<std::int32_t> numbers(count);
  for (std::uint64_t i = 0; i < count; ++i) numbers[i] = sample(rank, i, call);
  return numbers;
}

inline bool right(const Member& job, const std::int32_t* result, std::uint64_t count, std::uint64_t call) {
  std::vector<std::int32_t> got(count);
  must(cudaMemcpy(got.data(), result, count * 4, cudaMemcpyDefault), "cudaMemcpy");
  for (std::uint64_t i = 0; i < count; ++i) {
    std::int32_t expected = 0;
    for (int peer = 0; peer < job.size; ++peer) expected += sample(peer, i, call);
    if (got[i] == expected) continue;
    capi::say("call {}, element {} of {}: {} instead of {}", call, i, count, got[i], expected);
    return false;
  }
  return true;
}

inline void replay(void* on, int replays, const std::function<void()>& enqueue) {
  auto* const stream = static_cast<cudaStream_t>(on);
  const Graph graph(stream, enqueue);
  for (int i = 0; i < replays; ++i) graph.launch(stream);
  must(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

}  // namespace sennit::gpu
