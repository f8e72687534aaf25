// Starts sennit's own programs as children of this one: ranks of the benchmark, and the measurement of the machine.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/json.h"
#include "bench/program.h"
#include "comm/launch.h"

namespace sennit::bench::put {

/// Returns the file of the running program; the others lie beside it.
std::filesystem::path own_program();

/// The prefix stands before every line of rank 0's outcome on stdout, so that what libraries print there does not get
/// into the outcome.
inline constexpr std::string_view kOutcomePrefix = "sennit-outcome: ";
/// Prints what rank 0 tells its parent, in many short lines: the launcher cuts long ones.
void print_outcome(const Json& outcome);

struct Child {
  std::string document;  ///< those lines of rank 0's stdout that begin with the prefix, without it
  std::string error;     ///< the {"error": …} line of the rank that failed first; empty when it wrote none
  comm::Ended ended;
};

/// Runs the job; what it writes to stderr goes on to the user, progress only if asked. Errors: those of launch().
Result<Child> run_child(comm::Launch job, std::string_view prefix, bool progress);

/// Tells on stderr why a child failed, and returns the code to end with. `what` was being done.
Exit end_as(const Child& child, const std::string& what);

}  // namespace sennit::bench::put
