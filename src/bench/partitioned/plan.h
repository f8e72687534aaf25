// Says which thread makes which parts ready in which order, and how long it computes before each. Pure: threads and
// parts have numbers of their own, and every back end follows the same plan.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "bench/partitioned/noise.h"

namespace sennit::bench::partitioned {

/// The order in which the parts of a message become ready, as far as threads leave that open.
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

/// Returns all parts in their order.
std::vector<int> ordered(const Order& order, int parts, std::uint64_t seed, int iteration);

/// A thread computes for so long and then says that this part is ready; or, as one of several threads that work on
/// one part, that it has done with it: the last of them says it.
struct Step {
  double compute_us = 0;
  int part = 0;
};

struct Crew {
  int threads = 1, parts = 1;
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

/// Returns the steps of one thread. Parts are dealt out to threads in even runs of their order; where threads are
/// more, each works on one part, and runs of them on the same.
std::vector<Step> steps(const Plan& plan, int iteration, int thread);
/// Returns how many threads work on each part: 1 unless there are more threads than parts.
std::vector<int> workers(const Plan& plan, int iteration);

}  // namespace sennit::bench::partitioned
