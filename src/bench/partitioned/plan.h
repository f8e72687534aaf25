// Says which thread makes which partitions ready in which order, and how long it computes before each. Pure: threads
// and partitions have numbers of their own, and every back end follows the same plan.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "bench/partitioned/noise.h"

namespace sennit::bench::partitioned {

/// The order in which the partitions of a message become ready, as far as threads leave that open.
struct Order {
  enum class Kind {
    linear,
    inverse,
    stride,  ///< 0, k, 2k, …, 1, k + 1, …
    random,  ///< another one in each iteration
    burst,   ///< linear, k at once
  };
  Kind kind = Kind::linear;
  int every = 1;  ///< k

  std::string text() const;
};
/// Reads "linear", "inverse", "random", "stride:K" or "burst:K". Errors: invalid_argument.
Result<Order> parse_order(std::string_view text);

/// Returns all partitions in their order.
std::vector<int> ordered(const Order& order, int partitions, std::uint64_t seed, int iteration);

/// A thread computes for so long and then says that this partition is ready; or, as one of several threads that work
/// on one partition, that it has done with it: the last of them says it.
struct Step {
  double compute_us = 0;
  int partition = 0;
};

struct Crew {
  int threads = 1, partitions = 1;
};

/// Holds what decides about an iteration.
struct Plan {
  Crew crew;
  std::uint64_t bytes = 0;  ///< of the message
  double compute_us = 0;    ///< of each thread, without noise
  Noise noise;
  Order order;
  std::uint64_t seed = 1;
};

/// Returns the steps of one thread. Partitions are dealt out to threads in even runs of their order; where threads
/// are more, each works on one partition, and runs of them on the same.
std::vector<Step> steps(const Plan& plan, int iteration, int thread);
/// Returns how many threads work on each partition: 1 unless there are more threads than partitions.
std::vector<int> workers(const Plan& plan, int iteration);

}  // namespace sennit::bench::partitioned
