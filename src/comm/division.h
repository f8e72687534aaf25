// Divides the ranks of a group into parts.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "base/unique_fd.h"
#include "comm/exchange.h"
#include "comm/job_place.h"
#include "comm/wire.h"

namespace sennit::comm {

/// Holds what one rank asks for.
struct SplitRequest {
  int color = 0;  ///< ranks of the same one make up a part; negative: this rank goes into none
  int key = 0;    ///< orders the ranks of a part; of equal ones the lower rank of the group comes first
  int node = 0;   ///< its node: the lowest rank there
};

/// Writes a request as the other ranks get it. Errors: corrupt.
Bytes write(const SplitRequest& request);
Result<SplitRequest> read_split_request(std::span<const std::byte> bytes);

/// A rank's place in its part.
struct Seat {
  int rank = 0;
  int size = 0;   ///< 0: it is in no part
  int first = 0;  ///< rank in the group of the part's rank 0
};

/// Returns the place of the group's `rank` in its part; `requests` by rank. Pure. Errors, equal for every rank:
/// unsupported where a part would reach over several nodes.
Result<Seat> seat_of(std::span<const SplitRequest> requests, int rank);

/// Holds what the ranks of a part meet by: meet_over_tcp(place, listener).
struct Part {
  JobPlace place;     ///< of size 0 where this rank is in no part
  UniqueFd listener;  ///< of the part's rank 0
};

/// Collective over `whole`. Errors, the same on every rank: those of seat_of() and of the exchange, and what keeps a
/// rank from listening.
Result<Part> divide(Exchange& whole, const SplitRequest& mine);

}  // namespace sennit::comm
