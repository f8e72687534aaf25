// Puts the ways of sending one message that are measured beside each other behind one interface.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/put/rig.h"
#include "path/split.h"

namespace sennit::bench::put {

/// Places of one message in the buffers of its two sides.
struct Message {
  std::uint64_t source = 0, destination = 0;  ///< offsets from the start of the buffers
  std::uint64_t bytes = 0;
};

class Variant {
 public:
  virtual ~Variant() = default;
  virtual std::string name() const = 0;
  /// False: rows of this case are left out, on purpose and without a warning.
  virtual bool covers(const Case&) const { return true; }
  /// True when the receiving process must take part in every message.
  virtual bool two_sided() const { return false; }
  /// Called before the messages of a case, on both processes. What it costs is not timed.
  virtual Status prepare(const Case& what) = 0;
  /// Enqueues one message from `side`, and on a two-sided variant the receipt of one there. `side` is of this
  /// process.
  virtual Status enqueue(int side, bool sends, bool receives, const Message& message) = 0;
  /// Waits until everything that `side` enqueued is done.
  virtual Status finish(int side) = 0;
};

/// Says why a variant is left out: a sentence that ends with what to do.
using Missing = std::string;

struct Variants {
  std::vector<std::unique_ptr<Variant>> list;  ///< in the order of the job
  std::vector<Missing> missing;
  std::map<std::string, std::string> versions;
};

/// Makes those of the job that work here; `job` must outlive them. Collective over all ranks of the node: every rank
/// leaves out the same.
Result<Variants> make_variants(Rig& rig, const Job& job);

/// Returns the candidate by way of host memory alone, driven by copy engines, that should be fastest for such a
/// message.
std::optional<path::Candidate> best_host_path(const machine::Machine& machine, const Endpoint& from,
                                              const Endpoint& to, std::uint64_t bytes);

}  // namespace sennit::bench::put
