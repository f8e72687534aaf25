// Starts the ranks of a job on this node and looks after them until the last has ended.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sennit::comm {

struct Launch {
  int ranks = 1;
  std::vector<std::string> command;  ///< program, found on PATH, and its arguments
  /// Sets SENNIT_RANK, SENNIT_SIZE, SENNIT_RENDEZVOUS and SENNIT_SECRET. Off: only `environment` is added, as when
  /// another launcher's environment is being imitated.
  bool announce = true;
  /// Variables of one rank, beside those of this process; an empty value removes the variable. May be null.
  std::function<std::map<std::string, std::string>(int rank)> environment;
  /// Each whole line that a rank prints, without its end; `error` tells stderr from stdout. Called from the thread
  /// that called launch(). Null: lines go to this process's stdout and stderr, with "[RANK] " before them.
  std::function<void(int rank, std::string_view line, bool error)> output;
  /// Says to end the others when a rank fails: SIGTERM, and SIGKILL two seconds later.
  bool stop_on_failure = true;
};

/// Says how the job ended, as a shell counts: 0, a rank's exit code, or 128 + the signal that ended it.
struct Ended {
  int status = 0;             ///< of the first rank that failed (in time); 128 + n when signal n stopped the job
  int rank = -1;              ///< that rank; -1 when none failed or the job was stopped
  std::vector<int> statuses;  ///< of each rank
};

/// Runs the job. Each rank leads its own process group and dies with this process (also by kill -9), its standard
/// input is empty. SIGINT, SIGTERM and SIGHUP to this process end all ranks, with what they started. One launch()
/// at a time in a process. Errors: not_found (no such program); invalid_argument; system_error.
Result<Ended> launch(const Launch& job);

}  // namespace sennit::comm
