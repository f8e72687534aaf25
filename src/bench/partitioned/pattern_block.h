// Computes what a rank computes in a pattern, partition by partition, from the faces that it receives. Pure: the same
// function serves every way of sending and the computation in one process that ranks are compared with.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "bench/partitioned/pattern.h"

namespace sennit::bench::partitioned {

/// One partition of each face, by side; null where there is none: what comes from there is 0.
using Faces = std::array<double*, kSides>;

/// The block of one rank. Partitions are independent: each may be another thread's.
class Block {
 public:
  Block(const Shape& shape, int rank);

  /// Begins a round, whose number decides what is computed.
  void reset(int round);
  /// Computes a partition of a step: reads `in`, and writes `out`. Steps of a partition come in their order.
  void step(int number, int partition, const Faces& in, const Faces& out);

  /// What has been computed: of a sweep the sums over all octants and planes, of a halo the last iteration.
  std::span<const double> result() const { return shape_.pattern == Pattern::sweep3d ? sums_ : now_; }

 private:
  void sweep(int number, std::size_t partition, const Faces& in, const Faces& out);
  void relax(int number, std::size_t partition, const Faces& in, const Faces& out);
  /// A number of this rank, round and place, between 0 and 1.
  double source(std::size_t place) const;

  const Shape shape_;
  const int rank_;
  const std::size_t width_;  // quantities of a partition
  const std::size_t each_;   // numbers of a partition's cells
  int round_ = 0;
  std::vector<double> now_, next_, sums_;  // by partition, cell and quantity
};

/// Runs a round of all ranks in one process; returns each rank's result.
std::vector<std::vector<double>> serial(const Shape& shape, int round);

}  // namespace sennit::bench::partitioned
