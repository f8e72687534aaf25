// Proves a recorded job right, or says where it is wrong, for every order in which its parties could run:
// - a deadlock: who waits for what that never comes;
// - a race: a byte read or written while, as far as signals order it, another party may be writing it;
// - a byte read that no party has written, and one written for others that no party reads;
// - a signal that no party waits for, and memory outside of any region;
// - results: each byte must hold what the operation promises, and the same bits on all ranks where it promises that.
//
// Nothing is timed: what counts is the order that signals, events and launches establish (vector clocks, as race
// detectors keep them), and which inputs have come where (content.h). A word that has reached a value orders what its
// first signal of at least that value orders, and no more, however far the signaller has got in the order tried.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "device/trace/recording.h"

namespace sennit::sim {

/// `bytes` at `result` must be the sources, reduced where there are several, in whatever order.
struct Promise {
  device::End result;
  std::uint64_t bytes = 0;
  std::vector<device::End> sources;
  /// Promises of the same number, where it is not negative, have the same bits: they are reduced in the same order.
  int same_bits = -1;

  bool operator==(const Promise&) const = default;
};
using Promises = std::vector<Promise>;

enum class Fault {
  deadlock,
  race,
  unwritten,  ///< bytes read that no party wrote
  unread,     ///< bytes or packets written that no party reads
  unawaited,  ///< a signal for which no party waits
  outside,    ///< memory of no region
  result,     ///< not what was promised
};
std::string_view name(Fault fault);

struct Finding {
  Fault fault;
  std::string what;  ///< names both places where there are two
};

/// At most `most` findings; none: the job is right.
std::vector<Finding> check(const device::Recording& recording, const Promises& promises, std::size_t most = 20);

}  // namespace sennit::sim
