// Parses the command line of sennit-bench-partitioned, and derives from it what is measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/partitioned/back_end.h"
#include "bench/partitioned/pattern.h"
#include "bench/partitioned/plan.h"
#include "bench/program.h"

namespace sennit::bench::partitioned {

struct Options {
  std::string back_end = "mpi", probe, library, compute = "1ms";
  std::vector<std::string> sizes, caches = {"hot"}, noises = {"none"}, orders = {"linear"};
  std::vector<int> partitions = {1, 2, 4, 8, 16, 32};
  std::string pattern;  ///< empty: a message between two ranks
  int planes = 8;       ///< of a pattern
  int threads = 0;      ///< 0: one a partition, as far as there are cores
  double seconds = 1;   ///< at most, for each cell
  double limit = 20;    ///< seconds without an end of an iteration, after which it hangs
  std::uint64_t seed = 1;
  std::vector<int> skip;  ///< cells that an earlier job has done, by number
  bool progress = false;
};

void add_options(CLI::App& app, Options& options);

/// One line of the result.
struct Cell {
  BackEnd back_end = BackEnd::mpi;
  Plan plan;
  bool cold = false;
  int line = 0;  ///< its place among all cells, those that are skipped too

  /// "mpi, 64 KiB in 4 partitions, uniform:4, linear, hot".
  std::string text() const;
};

/// Returns every cache × noise × order × partitions × size but those to be skipped. `cores`: that the sender's
/// threads have for themselves. Errors: invalid_argument.
Result<std::vector<Cell>> cells_of(const Options& options, int cores);

/// Returns the sizes of --sizes, or the default ones. Errors: invalid_argument.
Result<std::vector<std::uint64_t>> sizes_of(const Options& options);

/// Reads "10ms", "250us", "0.5s" or "0" as µs. Errors: invalid_argument.
Result<double> parse_duration(std::string_view text);

}  // namespace sennit::bench::partitioned
