// Reads which patterns are exchanged with which maps: a document of kind "map variants", which `sennit-map variants`
// prints.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "bench/mpi/rig.h"

namespace sennit::bench::mpi {

/// One map of an exchange, and what was said of it before it was measured.
struct PatternMap {
  Variant variant;
  double predicted_us = 0;  ///< simulated
  double links_us = 0;      ///< of the most loaded link alone; 0: nothing is known
  double found_ms = 0;      ///< 0: it was not looked for
};

/// A pattern of one size, with the maps that take turns; the first one is the order as it is.
struct PatternCase {
  Case what;
  std::vector<PatternMap> maps;
};

/// `buffers`, `over`: each case is measured in all of these and over each of those; NCCL has GPU buffers alone.
/// Errors: those of reading a file; invalid_argument (another document, a pattern of other ranks than the job's, a
/// map that is no permutation; names the pattern).
Result<std::vector<PatternCase>> read_patterns(const std::string& file, const std::vector<Buffers>& buffers,
                                               const std::vector<Over>& over, unsigned element_bytes, int ranks);
Result<std::vector<PatternCase>> patterns_in(const Json& document, const std::vector<Buffers>& buffers,
                                             const std::vector<Over>& over, unsigned element_bytes, int ranks);

}  // namespace sennit::bench::mpi
