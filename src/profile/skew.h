// Calls of all ranks of a communicator: who came last, and how long the others waited for that. Not all wait for all
// where a call has a root: in a broadcast or a scatter the others wait for the root, in a reduction or a gather the
// root waits for the last of them, and nobody else for anybody (of what these operations need, whatever way data
// goes).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "profile/rank.h"
#include "profile/rooted.h"

namespace sennit::profile {

/// The time that ranks waited in calls of all ranks for the last one to come, or the one that they need: from a
/// rank's begin to that one's, where that is longer than the clocks are wrong.
struct Skew {
  std::string function;
  std::uint32_t communicator_size = 0;
  std::uint64_t calls = 0;    ///< that all ranks made, and that the rings still have
  double wait_seconds = 0;    ///< of all ranks together
  double inside_seconds = 0;  ///< that ranks were in these calls, waiting included
  int latest_rank = -1;       ///< of the job; who was waited for most often
  std::uint64_t latest_calls = 0;
};

/// A rank was waited for so often, and without it these calls could have begun so much sooner.
struct Lateness {
  int rank = -1;
  std::uint64_t calls = 0;  ///< of all ranks of a communicator, of any of its own
  std::uint64_t last = 0;   ///< to which it came last, or as their root behind the first one
  double late_seconds = 0;  ///< behind the last one but one, or as the root behind the first one
};

/// Ranks come to it one after the other, in any order; then each is asked how long it waited.
class Meetings {
 public:
  void come(const Rank& rank);
  /// The rank waited so long in each of its calls for those that it needs, in ns. All ranks have come.
  std::vector<std::uint64_t> waits(const Rank& rank);
  /// All ranks have been asked.
  std::vector<Skew> skews() const;
  std::vector<Lateness> lateness() const;

 private:
  /// A call of all ranks, as far as they have come. Its root, where it has one, is apart from the others.
  struct Meeting {
    std::uint64_t first_begin = ~std::uint64_t{0}, before_last = 0, last_begin = 0;
    std::uint64_t root_begin = 0;
    std::uint64_t error = 0;  // of the clocks
    const std::string* function = nullptr;
    const std::string* clock = nullptr;
    std::uint32_t came = 0, size = 0;
    int latest = -1, root = -1;
    Rooted rooted = Rooted::none;  // also before its root has come
    bool on_one_clock = true;

    void come(std::uint64_t begin, int rank);
    void come_as_root(std::uint64_t begin, int rank, Rooted flow);
    bool is_whole() const { return came == size && on_one_clock; }
    bool waits_for_root() const { return rooted == Rooted::broadcast || rooted == Rooted::scatters; }
    /// Who is waited for, and since when there is somebody who waits.
    int awaited_rank() const { return waits_for_root() ? root : latest; }
    std::uint64_t awaited_begin() const { return waits_for_root() ? root_begin : last_begin; }
    std::uint64_t waited_since() const;
    /// All have come, and one was waited for, longer than the clocks are wrong.
    bool has_a_last() const { return is_whole() && awaited_begin() > waited_since() + 2 * error; }
    /// How long a rank that began then has waited, if it left at `end`; in ns.
    std::uint64_t waited(std::uint64_t begin, std::uint64_t end, bool is_root) const;
  };
  /// Numbers of calls lie together, and a file may name any.
  static constexpr std::size_t kTogether = 16;
  using Together = std::array<Meeting, kTogether>;
  struct Key {
    std::uint64_t communicator, number;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return (key.communicator ^ key.number * 0x9e3779b97f4a7c15u) >> 7;
    }
  };
  struct Waited {
    std::uint64_t wait_ns = 0, inside_ns = 0;
  };

  template <class Visit>
  void visit(const Rank& rank, const Visit& each);

  std::set<std::string> names_;  ///< of functions and clocks
  std::unordered_map<Key, Together, Hash> meetings_;
  std::map<std::pair<std::string, std::uint32_t>, Waited> waited_;
  std::map<int, std::uint64_t> calls_;  ///< by rank: of all ranks, that all have made
};

}  // namespace sennit::profile
