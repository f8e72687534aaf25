// Says where messages are: on which ranks, and where in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sennit::net {

/// A rank's place: which node, and which of its ranks.
struct Place {
  int node = 0, rank = 0;
};

inline std::uint64_t as_count(int number) {
  return static_cast<std::uint64_t>(number);
}

inline const std::byte* at(const void* data, std::uint64_t bytes) {
  return static_cast<const std::byte*>(data) + bytes;
}
inline std::byte* at(void* data, std::uint64_t bytes) {
  return static_cast<std::byte*>(data) + bytes;
}

/// Messages of the same length, by rank.
struct SideBySide {
  SideBySide(std::uint64_t bytes, std::size_t ranks) : lengths(ranks, bytes) {
    for (std::size_t rank = 0; rank < ranks; ++rank) begins.push_back(rank * bytes);
  }
  std::vector<std::uint64_t> lengths, begins;
};

}  // namespace sennit::net
