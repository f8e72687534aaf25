// Connects every rank of a job with every other.
#pragma once

#include "base/unique_fd.h"
#include "comm/exchange.h"
#include "comm/job_place.h"

namespace sennit::comm {

/// Makes the exchange over TCP: a star through rank 0, which listens at place.rendezvous, or, where the launcher
/// gives none and all ranks are on one host, at a loopback port told in a rendezvous file. Both sides of every
/// connection prove that they know the job's secret. Collective; when it returns, all ranks have met, and neither
/// listener nor file exists any more. Within SENNIT_TIMEOUT. Errors: timed_out names the ranks that did not come;
/// permission_denied (wrong secret); mismatch (sizes differ, a rank twice); unsupported (several hosts and no
/// SENNIT_RENDEZVOUS); what the runtime folder or network refuse. `listener`: of rank 0, where it listens at
/// place.rendezvous already.
Result<std::unique_ptr<Exchange>> meet_over_tcp(const JobPlace& place, UniqueFd listener = {});

/// Holds where rank 0 waits for the other ranks of its host, who know each other by other means and are to be told.
struct Rendezvous {
  UniqueFd listener;
  std::string address, secret;  ///< for JobPlace
};
Result<Rendezvous> open_rendezvous();

}  // namespace sennit::comm
