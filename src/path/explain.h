// Writes a split as a JSON document: the answer of `sennit explain put` and of sennit_explain_put().
#pragma once

#include <string>

#include "base/json.h"
#include "machine/machine.h"
#include "path/split.h"

namespace sennit::path {

/// Describes what split(machine, from, to, …) decided, with reasons; "tuned" says whether the shares were measured as
/// the fastest. `from` and `to` are in the machine.
Json explain(const machine::Machine& machine, const std::string& from, const std::string& to, const Split& split,
             bool both_ways = false);

/// Says what decides how messages travel, beside the machine.
struct Ground {
  bool kept = true;   ///< the splits that `sennit tune` kept for the machine go before computed ones
  bool named = true;  ///< false: the user named no machine; it is this one, as discovered or measured
};

/// explain() of what a communicator on such ground would do, and "decided_by": "request" (options.forced), "table"
/// (as tuned), "model" (computed), or "caution": a machine that the user did not name and that was never tuned takes
/// the direct path alone. Errors: those of split(). A table that cannot be read is ignored, as for messages.
Result<Json> explain_put(const machine::Machine& machine, const std::string& from, const std::string& to,
                         std::uint64_t bytes, SplitOptions options, const Ground& ground);

}  // namespace sennit::path
