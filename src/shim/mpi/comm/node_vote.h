// The nodes of a communicator vote on a collective call for which every rank of a node has voted yes with its GPU
// buffers (collective_vote.h): whether it was so on all nodes.
//
// 1. The first rank of each node leads it. When all its ranks have voted yes on call k, it says so to the other
//    leaders.
// 2. It waits until all of them have said so: then every node does the call with sennit. No node says this of a call
//    and then leaves it.
// 3. A node where a rank has host memory says nothing, since such calls must cost nothing. A leader that has waited
//    for its message too long asks; the asked process's own thread looks at its vote, and answers when a rank has
//    voted no: then no node does the call with sennit, since every other one will ask too.
//
// A node that has heard from all others may be done with call k, and vote on its next one, before another node has
// looked. There it waits to hear from all again, whatever some say; so the two latest yes votes of each are enough to
// remember.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "comm/wire.h"
#include "shim/mpi/comm/collective_vote.h"

namespace sennit::shim::mpi {

class NodeVote {
 public:
  using Clock = std::chrono::steady_clock;
  /// Sends a rank of MPI_COMM_WORLD a control message; never loses a message, and keeps the order of those to one
  /// rank.
  using Send = std::function<void(int rank, comm::Bytes word)>;

  explicit NodeVote(Send tell) : send_(std::move(tell)) {}

  /// This process leads its node in the communicator called `key` on all its ranks. `others`: those that speak
  /// for the other nodes. The vote outlives it.
  void join(std::uint64_t key, const CollectiveVote& vote, std::vector<int> others);
  void leave(std::uint64_t key);
  void leave_all();
  /// Returns the number of communicators that it remembers anything of.
  std::size_t joined() const;

  /// Notes that all ranks of this node have voted yes on call `number`, greater than any before, and give alike what
  /// `signature` is of.
  void vote_yes(std::uint64_t key, std::uint64_t number, std::uint32_t signature = 0);
  /// Returns whether all nodes have voted yes, and give alike; no value while that is not known. To be asked until it
  /// answers.
  std::optional<bool> outcome(std::uint64_t key, std::uint64_t number, Clock::time_point now = Clock::now());

  /// Handles a control message that has come. From any thread.
  void on_message(int from, const comm::Bytes& word);

 private:
  struct One {
    const CollectiveVote* vote = nullptr;  // null: words came before join()
    std::vector<int> others;
    struct Said {
      std::uint64_t offered = 0, offered_before = 0, refused = 0;
      std::uint32_t signature = 0, signature_before = 0;
    };
    std::map<int, Said> said;     // by speaker: numbers of its latest calls
    std::uint32_t signature = 0;  // of this node's latest offer
    Clock::time_point ask_at;
    Clock::duration patience{};
  };

  const Send send_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, One> all_;
};

}  // namespace sennit::shim::mpi
