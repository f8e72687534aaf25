// Keeps splits that were measured: a model says what should pay, and this document, beside the cached machine, says
// what did.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "machine/machine.h"

namespace sennit::path {

using NamedShares = std::vector<std::pair<std::string, double>>;  ///< by route name, summing to 1

/// The fastest split found for one size between two memories; a single share where nothing beat the single path
/// beyond the noise.
struct TunedPut {
  std::string from, to;    ///< the machine's ids
  bool both_ways = false;  ///< while as much travelled the other way
  std::uint64_t bytes = 0;
  NamedShares shares;
  double us = 0;         ///< median with these shares
  double spread_us = 0;  ///< half the interquartile range
  double single_us = 0;  ///< median of the single path in the same run
};

struct PutTable {
  static constexpr int kVersion = 1;
  std::string fingerprint;  ///< of the machine it was measured on
  std::string date;
  std::vector<TunedPut> entries;

  /// Shares for a message: those of the nearest measured sizes, interpolated in the logarithm of the size where both
  /// use the same routes, else those of the smaller. Below the smallest measured size one share: there the single
  /// path is best by far. Empty when the pair was never tuned.
  std::optional<NamedShares> shares(const std::string& from, const std::string& to, bool both_ways,
                                    std::uint64_t bytes) const;

  /// Returns the smallest measured size that travels on several paths, one way or both; 0 when the pair was never
  /// tuned, and the largest number there is when no size does.
  std::uint64_t least_split(const std::string& from, const std::string& to) const;
};

Json to_json(const PutTable& table);
/// Errors: corrupt, naming the entry and member that is wrong.
Result<PutTable> put_table_from_json(const Json& document, std::string_view origin);

/// Returns the file that keeps the table of a machine, beside its cached document. Errors: those of
/// machine::cache_file.
Result<std::filesystem::path> put_table_file(const std::string& fingerprint);
/// Errors: not_found (never tuned), corrupt.
Result<PutTable> load_put_table(const std::string& fingerprint);

}  // namespace sennit::path
