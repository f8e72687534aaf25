// Keeps the two ranks of a pair in step: by a barrier in shared memory that costs a microsecond or two, where one
// over the exchange's sockets would cost more than many of the copies that are timed.
#pragma once

#include <cstdint>
#include <optional>

#include "comm/group.h"

namespace sennit::bench::put {

class Pairing {
 public:
  /// One process has both ends: there is no rank to wait for.
  Pairing() = default;
  /// Pairs ranks 0 and 1 of the group. Errors: unsupported when they are not of one node.
  static Result<Pairing> create(const comm::Group& group);

  /// Returns after both have called. Errors: peer_lost, aborted, timed_out.
  Status meet() { return exchange(0).status(); }
  /// Meets like meet(), and returns what the other rank gave (in one process: its own).
  Result<double> exchange(double mine);

  /// Ranks beyond the pair wait until finish() was called on rank 0.
  static Status wait_for_end(const comm::Group& group);
  static void finish(const comm::Group& group);

 private:
  const comm::Group* group_ = nullptr;
  std::uint64_t met_ = 0;
};

}  // namespace sennit::bench::put
