// Declares the one thing ranks need before they can do anything else: every rank tells every other something.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "comm/deadline.h"
#include "comm/wire.h"

namespace sennit::comm {

/// An Exchange connects the ranks of a job while they set up. It is the caller's own (a function given through the C
/// API, over MPI or NCCL) or ours over TCP. Collective: every rank makes the same calls in the same order, one at a
/// time.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Gathers every rank's bytes, by rank; each rank may give another length, up to kLargestItem. Returns on a rank
  /// only after every rank has called. Errors: timed_out and peer_lost name the ranks that did not take part;
  /// invalid_argument when an item is too large. After an error the exchange is of no further use.
  virtual Result<std::vector<Bytes>> all_gather(std::span<const std::byte> mine) = 0;

  /// Something all ranks know and strangers do not; empty when the exchange has nothing of the kind. Without it,
  /// whoever can read what is exchanged could join the group (from the same user's processes on a node; from
  /// any host between nodes).
  virtual std::string secret() const { return {}; }

  /// Bounds each all_gather from now on, where the exchange can; at first SENNIT_TIMEOUT does.
  virtual void set_limit(Clock::duration) {}

  /// Ends an all_gather in progress, and every later one, with peer_lost: called from another thread once the group
  /// knows that a rank is gone or has given up. An exchange that cannot (the caller's own function) waits on.
  virtual void cancel() {}

  /// Returns after every rank has called.
  Status barrier();
};

/// Returns the exchange of a rank that is alone.
std::unique_ptr<Exchange> alone();

/// Does an all_gather that carries each rank's own failure too, so that all ranks fail together, naming the first
/// rank that failed, instead of one leaving and the others waiting for it.
Result<std::vector<Bytes>> agree(Exchange& exchange, const Status& mine, std::span<const std::byte> payload);

}  // namespace sennit::comm
