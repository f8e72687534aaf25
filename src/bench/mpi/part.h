// Says what each rank of a job sends and receives in an exchange, where it plays the part of a rank of a pattern.
// Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "place/traffic.h"

namespace sennit::bench::mpi {

struct Pattern {
  std::string name;  ///< "2d-torus:2x2,w=3"
  place::Traffic traffic{0};
  unsigned element_bytes = 1;  ///< messages are whole elements, of at least one
};

/// Where a message lies in a buffer.
struct Piece {
  std::uint64_t at = 0, bytes = 0;
};

struct Message {
  int peer = 0;
  Piece piece;
  unsigned number = 0;  ///< of all messages of the exchange: what tells its contents from the others'
};

/// The messages of one rank, in the order in which MPI matches those of a pair; each list lies without gaps.
struct Part {
  std::vector<Message> sent, received;

  std::uint64_t sent_bytes() const { return end(sent); }
  std::uint64_t received_bytes() const { return end(received); }

 private:
  static std::uint64_t end(const std::vector<Message>& list) {
    return list.empty() ? 0 : list.back().piece.at + list.back().piece.bytes;
  }
};

/// `map`: the rank of the job that plays each rank of the pattern, a permutation.
Part part_of(const Pattern& pattern, std::span<const int> map, int rank);

/// Returns the bytes of the largest buffer of any rank, whatever the map.
std::uint64_t most_bytes(const Pattern& pattern);

}  // namespace sennit::bench::mpi
