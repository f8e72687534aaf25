// Answers probes: an announced message is found with its own length, not that of its RTS; and what a matched probe
// has taken is known until it is received.
//
// State: the communicator of each message that a matched probe has taken. Lock: mutex_, under which nothing is
// called. Thread-safe.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "shim/mpi/p2p/receives.h"

namespace sennit::shim::mpi {

class Probes {
 public:
  Probes(Job& job, Transports& transports, Receives& receives, RequestTable& requests)
      : job_(job), transports_(transports), receives_(receives), requests_(requests) {}

  /// A probe has taken this message out of a communicator's, for a receive of it alone.
  void match(Handle message, Handle comm);
  /// Returns where that was; kNoHandle: not known.
  Handle comm_of(Handle message);
  /// Returns how long a message is that a probe found; no value: that cannot be said yet, ask again. `taken`: MPI has
  /// no more of it to find.
  std::optional<std::int64_t> length(Handle comm, int source, int tag, std::int64_t bytes, bool taken);

 private:
  /// Returns what a message of `bytes` bytes announces; no value where it is the program's own.
  std::optional<std::int64_t> announced(const CommRegistry::Peer& from, int tag, std::int64_t bytes, bool taken);

  Job& job_;
  Transports& transports_;
  Receives& receives_;
  RequestTable& requests_;
  std::mutex mutex_;
  std::unordered_map<Handle, Handle> comms_;  // by message, the latest of each handle
};

}  // namespace sennit::shim::mpi
