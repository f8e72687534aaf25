#include "bench/mpi/part.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sennit::bench::mpi {

namespace {

void append(std::vector<Message>& list, std::uint64_t end, int peer, std::uint64_t bytes, unsigned number) {
  list.push_back({peer, {end, bytes}, number});
}

}  // namespace

Part part_of(const Pattern& pattern, std::span<const int> map, int rank) {
  Part part;
  unsigned number = 0;
  for (const place::Talk& talk : pattern.traffic.talks()) {
    const int from = map[std::size_t(talk.from)], to = map[std::size_t(talk.to)];
    const auto messages = static_cast<unsigned>(std::max(1.0, std::round(talk.messages)));
    const auto elements = static_cast<std::uint64_t>(talk.bytes / messages) / pattern.element_bytes;
    const std::uint64_t bytes = std::max<std::uint64_t>(1, elements) * pattern.element_bytes;
    for (unsigned i = 0; i < messages; ++i, ++number) {
      if (from == rank) append(part.sent, part.sent_bytes(), to, bytes, number);
      if (to == rank) append(part.received, part.received_bytes(), from, bytes, number);
    }
  }
  return part;
}

std::uint64_t most_bytes(const Pattern& pattern) {
  std::vector<int> map(std::size_t(pattern.traffic.ranks()));
  std::iota(map.begin(), map.end(), 0);
  std::uint64_t most = 0;
  for (const int rank : map) {
    const Part part = part_of(pattern, map, rank);
    most = std::max({most, part.sent_bytes(), part.received_bytes()});
  }
  return most;
}

}  // namespace sennit::bench::mpi
