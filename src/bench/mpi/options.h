// Parses the command line of sennit-bench-mpi, and derives the cases from it.
#pragma once

#include <string>
#include <vector>

#include "bench/mpi/layout.h"
#include "bench/program.h"

namespace sennit::bench::mpi {

/// The variant of calls that an observer sees, which goes on to the MPI itself.
inline constexpr const char* kRecorded = "recorded";

struct Options {
  std::vector<std::string> operations = {"latency", "bandwidth", "bidirectional", "allreduce", "bcast", "alltoall"};
  std::vector<std::string> sizes, buffers, versus;
  std::vector<std::string> over = {"mpi"};  ///< by what exchanges of patterns are carried
  std::vector<int> windows = {1, 64};
  std::string type = "float32", op = "sum", library, nccl, bind = "auto", patterns;
  double seconds = 0.3;
  int ranks_per_node = 0;  ///< 0: as they are
  bool in_place = false, direct = false, progress = false;

  /// Returns whether --vs names the peer, or is not given.
  bool against(std::string_view peer) const;
};

void add_options(CLI::App& app, Options& options);

/// Returns the kinds of --buffers; by default one, of GPUs where there are some. Errors: invalid_argument.
Result<std::vector<Buffers>> buffers_of(const Options& options, bool gpus);

/// Returns what carries exchanges of patterns, each once.
std::vector<Over> over_of(const Options& options);

/// Errors: invalid_argument (ranks that --ranks-per-node does not divide into nodes).
Status check_nodes(const Options& options, int ranks);

/// Largest buffer of a rank: a limit, so that eight ranks fit beside each other in a host's memory.
inline constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;

struct Cases {
  std::vector<Case> list;
  std::vector<std::string> warnings;  ///< what was asked for and is left out, and what to do
};
/// Returns every operation × buffers × window × size × place. `fast`: by default messages become as large as pays
/// between GPUs. `gpus`: which --buffers there are by default. Errors: invalid_argument.
Result<Cases> cases_of(const Options& options, bool fast, bool gpus, int ranks);

}  // namespace sennit::bench::mpi
