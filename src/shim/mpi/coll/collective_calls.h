// Does blocking collective calls with sennit: where all ranks of a communicator can, which each says in its vote
// (collective_vote.h), sennit's communicator beside it does the call (communicator.h). Ranks may be on several nodes,
// where messages are long (several_nodes.h).
//
// State: it has none of its own; sennit's communicators are in CommRegistry. It takes no lock, and no lock may be
// held when it is called: it waits for other ranks, and makes progress meanwhile.
#pragma once

#include <optional>
#include <string_view>

#include "shim/mpi/coll/arrivals.h"

namespace sennit::shim::mpi {

class CollectiveCalls {
 public:
  CollectiveCalls(Job& job, Reporting& reporting, Staging& staging, Arrivals& arrivals, Progress& progress)
      : job_(job), reporting_(reporting), staging_(staging), arrivals_(arrivals), progress_(progress) {}

  /// Does a call. Returns what the program is told; no value: it is left to the real function, and `why` says why.
  std::optional<int> perform(const Call& call, std::string_view& why);

 private:
  std::optional<int> accelerate(const Call& call, std::string_view& why);
  /// Returns whether all ranks have offered call `number`. Errors: a rank was lost; mismatch.
  Result<bool> wait_for_all(CommState& one, std::uint64_t number, std::uint32_t signature, const Call& call);
  /// Returns what `answer` says in the end; false where the communicator is of no use any more. Errors: a rank was
  /// lost.
  template <class Answer>
  Result<bool> wait_for(const Answer& answer, const CommState& one, const Call& call);

  Job& job_;
  Reporting& reporting_;
  Staging& staging_;
  Arrivals& arrivals_;
  Progress& progress_;
};

}  // namespace sennit::shim::mpi
