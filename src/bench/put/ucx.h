// Measures UCX's put between two processes by its own program, ucx_perftest, while nothing else runs on the pair.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/put/result.h"

namespace sennit::bench::put {

struct UcxProgram {
  std::string path;     ///< of ucx_perftest
  std::string version;  ///< "1.22.0"; empty when ucx_info beside it does not tell
};

/// `given`: a file, or empty to look on PATH. Errors: not_found.
Result<UcxProgram> find_ucx(const std::string& given);

/// One line of the batch: every case is run this often, in turns, each time `iterations` messages on end.
struct UcxTest {
  Case what;
  int iterations = 0;
};
inline constexpr int kUcxRounds = 11;

/// Returns as many iterations as fill a round's part of `seconds`, given about how long one takes: 3 to 2000, and no
/// fewer than two windows.
int ucx_iterations(const Case& what, double expected_us, double seconds);

/// Returns the batch file of ucx_perftest. `memory`: "cuda" or "host".
std::string ucx_batch(const std::vector<UcxTest>& tests, std::string_view memory);

/// A line of its CSV: the test's number and the µs of one message, on average over the iterations. No value for other
/// lines.
struct UcxFigure {
  std::size_t test = 0;
  double us = 0;
};
std::optional<UcxFigure> parse_ucx_line(std::string_view line);

/// Says where the two processes run.
struct UcxPlace {
  std::string memory;    ///< "cuda" or "host"
  std::string from, to;  ///< what each process sees as CUDA_VISIBLE_DEVICES; empty: as it is
  std::string folder;    ///< where the batch file may be written and removed again
};

/// Runs all tests in one pair of processes. `seen` is called at every figure. Summaries by test; each sample is an
/// average over the test's iterations. Errors: what ucx_perftest says.
Result<std::vector<measure::Summary>> run_ucx(const UcxProgram& program, const std::vector<UcxTest>& tests,
                                              const UcxPlace& place, const std::function<void(std::size_t)>& seen);

}  // namespace sennit::bench::put
