// Describes what the ranks of one pair are to measure. The parent process writes it, on the command line of the
// ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "path/end.h"

namespace sennit::bench::put {

/// One end of the pair: the machine's name for it and, where it is a device, its index in the executor.
struct Endpoint {
  std::string id;
  int device = path::kHost;

  bool is_host() const { return device == path::kHost; }
};

/// A way of sending one message, and what stands beside it in every row.
struct Case {
  std::uint64_t bytes = 0;
  bool both_ways = false;
  int window = 1;  ///< messages in flight before the sender waits

  bool operator==(const Case&) const = default;
};

std::string traffic_name(bool both_ways);

/// Largest message that is also sent over the host path alone: a limit, since that is an order of magnitude slower.
inline constexpr std::uint64_t kLargestHostPath = 256ull << 20;

struct Job {
  Endpoint from, to;
  std::vector<Case> cases;
  std::vector<std::string> variants;  ///< in the order of the rows; without those that other programs measure
  double seconds = 1;                 ///< for each variant of each case
  std::string split;                  ///< shares that `sennit` is forced to, as SENNIT_SPLIT; empty: none
  std::string nccl;                   ///< file or folder of the library; empty: where the loader finds it
  bool measured = false;              ///< the machine document was measured, or written by hand for planning
  bool setup = false;                 ///< also measure how long a communicator takes to set up
  bool progress = false;
  long done = 0, total = 0;  ///< of the whole program's progress

  /// A host end needs one process, which drives all devices; else each end has its own.
  bool in_one_process() const { return from.is_host() || to.is_host(); }
};

Json to_json(const Job& job);
/// Errors: invalid_argument; the text comes from the parent, so this is a mistake of whoever started a rank by hand.
Result<Job> job_from(std::string_view text);

}  // namespace sennit::bench::put
