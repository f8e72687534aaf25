// Runs a scenario of rank_program as a job and keeps what the ranks printed.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "comm/launch.h"

namespace sennit::comm {

struct Job {
  Ended ended;
  std::vector<std::vector<std::string>> lines;  ///< by rank
  double seconds = 0;

  /// The only line that rank printed; otherwise a text that tells what it printed.
  std::string line(int rank) const;
};

using Variables = std::function<std::map<std::string, std::string>(int rank)>;

/// Ranks that fail do not end the others here: what those do about it is what is tested. Fails the test, and
/// returns an empty job, when the job cannot be started. `under`: a tool with its options, in which the ranks run.
Job run_job(int ranks, std::vector<std::string> scenario, const Variables& variables = {}, bool announce = true,
            std::vector<std::string> under = {});

/// All job's variables removed that this process may have inherited, so that tests may run under any launcher.
std::map<std::string, std::string> no_launcher();

}  // namespace sennit::comm
