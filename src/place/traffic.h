// What the ranks of a program send each other: the guest graph of a mapping.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace sennit::place {

/// Limit: a matrix of so many ranks still fits a program's memory several times.
inline constexpr int kMostRanks = 4096;

/// Messages from a rank to another one within one exchange.
struct Talk {
  int from = 0, to = 0;
  double bytes = 0;     ///< of all of them together
  double messages = 1;  ///< how many they are

  bool operator==(const Talk&) const = default;
};

/// Talks stay apart as they were added, and in that order: two messages to one neighbour, as a dimension of two
/// processes that wraps has them, are two talks and count twice.
class Traffic {
 public:
  explicit Traffic(int ranks) : ranks_(ranks) {}

  int ranks() const { return ranks_; }
  const std::vector<Talk>& talks() const { return talks_; }
  /// Adds messages. What a rank sends to itself, and nothing at all, is left out: no mapping changes it.
  void add(int from, int to, double bytes, double messages = 1);
  /// Multiplies all bytes.
  void scale(double factor);
  /// The same traffic with rank r renamed to `name[r]`.
  Traffic renamed(std::span<const int> name) const;
  /// Bytes from rank to rank, row by row: entry from × ranks + to.
  std::vector<double> matrix() const;
  double bytes() const;

 private:
  int ranks_;
  std::vector<Talk> talks_;
};

}  // namespace sennit::place
