// Parses the command line of sennit-bench-put, and says what it means on a machine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/program.h"
#include "bench/put/job.h"
#include "device/executor.h"
#include "machine/machine.h"

namespace sennit::bench::put {

struct Options {
  std::string from, to, pairs;
  std::vector<std::string> sizes, traffic;
  std::vector<int> windows = {1};
  std::vector<std::string> versus;
  std::string executor, machine, split, nccl, ucx;
  int ranks = 2;
  double seconds = 1;
  bool no_measure = false, setup = false, progress = false, check = false;
  bool versus_given = false;
  std::string job;  ///< not empty: this process is a rank
};

void add_options(CLI::App& app, Options& options);

struct Pair {
  Endpoint from, to;
};

/// Returns every size × traffic × window. Errors: invalid_argument (no size, or one of 0 bytes).
Result<std::vector<Case>> cases_of(const Options& options, device::Kind kind);

/// Returns the pairs asked for; `ids` are the machine's names of the executor's devices (empty: none), `host` of its
/// host memory. By default gpu0 → gpu1, or host memory → gpu0 where there is one GPU. Errors: not_found (names those
/// there are), invalid_argument (half a pair, the same end twice).
Result<std::vector<Pair>> pairs_of(const Options& options, const machine::Machine& machine,
                                   const std::vector<std::string>& ids, const std::string& host);

}  // namespace sennit::bench::put
