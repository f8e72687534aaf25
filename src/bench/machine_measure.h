// Implements `sennit-machine measure`.
#pragma once

#include <string>

#include "bench/program.h"

namespace sennit::bench {

/// Holds what the command line of `measure` says. Must outlive the program's run.
struct MeasureOptions {
  std::string executor;
  bool thorough = false;
  bool progress = false;
  bool no_cache = false;
};

/// Adds the subcommand: measures this machine, keeps the document in the user's cache and prints it. Warnings go to
/// stderr, one line {"warning": "SENTENCE ENDING WITH WHAT TO DO"} each.
void add_measure(Program& program, MeasureOptions& options);

}  // namespace sennit::bench
