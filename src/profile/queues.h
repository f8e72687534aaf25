// The two queues of each process that receives messages, over the time of the run: receives that wait for their
// message, and messages that were not asked for yet (Temuçin 2021, section 3.3.6). They are reconstructed from the
// sends and receives of all: a message counts as come when its send began.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "profile/matching.h"
#include "profile/rank.h"
#include "profile/run_span.h"

namespace sennit::profile {

/// One queue is so long, in the mean and at most.
struct QueueLength {
  double mean = 0;
  std::uint64_t most = 0;
  std::array<double, kTimeBins> mean_of_bin{};
  std::array<std::uint64_t, kTimeBins> most_of_bin{};
};

/// Intervals are entries: from when to when each was in the queue.
QueueLength length_of(std::vector<std::uint64_t> begins, std::vector<std::uint64_t> ends, const RunSpan& run);

/// A process that received has two queues.
struct RankQueues {
  int rank = -1;
  std::uint64_t messages = 0;   ///< that were matched
  std::uint64_t undecided = 0;  ///< of these, sent and asked for at times nearer to each other than clocks are right
  QueueLength posted, unexpected;
};

struct ReconstructedQueues {
  std::string why_not;  ///< empty: they were
  std::vector<RankQueues> ranks;
  std::uint64_t sends = 0, receives = 0;  ///< that found no other side
  std::uint64_t left_out = 0;  ///< calls that start messages of persistent requests: their ends are unknown
  double since_seconds = 0;    ///< from the run's begin: the calls before are no longer in all rings
};

/// Ranks come to it one after the other, in any order.
class MessageEnds {
 public:
  void add(const Rank& rank);
  /// All have been added. `run`: of all.
  ReconstructedQueues queues(const RunSpan& run);

 private:
  struct Key {
    std::uint64_t communicator;
    std::int32_t receiver;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return (key.communicator ^ static_cast<std::uint32_t>(key.receiver) * 0x9e3779b97f4a7c15u) >> 7;
    }
  };
  struct Ends {
    std::vector<std::vector<MessageEnd>> sends;  ///< of each sender
    std::vector<Receive> receives;
    int rank = -1;       ///< of the job, the receiver's
    bool is_one = true;  ///< no two ranks are the receiver: a communicator between two groups has two of each number
  };

  std::unordered_map<Key, Ends, Hash> ends_;
  std::string clock_;
  bool on_one_clock_ = true;
  std::uint64_t error_ns_ = 0, since_ns_ = 0, left_out_ = 0;
};

}  // namespace sennit::profile
