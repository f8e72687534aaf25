// Parses the command line of sennit-bench-collective, which its ranks are started with, too.
#pragma once

#include <string>
#include <vector>

#include "bench/program.h"
#include "coll/algorithms.h"

namespace sennit::bench::collective {

struct Options {
  std::vector<std::string> operations = {"allreduce"};
  std::vector<std::string> sizes;
  std::string type = "float32", op = "sum", executor, nccl;
  std::vector<std::string> versus, algorithms;
  std::vector<unsigned> blocks, threads;
  int ranks = 0;  ///< 0: one a GPU; four without GPUs
  double seconds = 0.2;
  double skew_us = 0;
  bool out_of_place = false, registered = false, eager = false, waited = false, progress = false;
  bool rank = false;  ///< this process is one
  std::string only;   ///< of a rank: the one variant of NCCL to measure, with nothing beside it

  /// Returns whether --vs names the peer.
  bool against(std::string_view peer) const;
};

void add_options(CLI::App& app, Options& options);

/// Returns the operations that --operations asks for, in its order. Errors: invalid_argument.
Result<std::vector<coll::Operation>> operations_of(const Options& options);

/// Returns the sizes in bytes, ascending as given. Errors: invalid_argument (none of them, or not whole elements).
Result<std::vector<std::uint64_t>> sizes_of(const Options& options, bool gpus);

/// Returns every plan that --algorithms, --blocks and --threads ask for. Errors: invalid_argument (also where the
/// operation does not have the algorithm).
Result<std::vector<coll::Plan>> plans_of(const Options& options, coll::Operation operation);

}  // namespace sennit::bench::collective
