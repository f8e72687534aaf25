// Lets ranks of a communicator meet beside the program: over control messages between their processes (comm/agent.h),
// without a call of MPI. So a thread of our own can wait there while the program goes on.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "comm/exchange.h"

namespace sennit::shim::mpi {

class ControlExchanges {
 public:
  /// Sends a rank of MPI_COMM_WORLD a control message of at most comm::kLargestWord bytes; never loses a message, and
  /// keeps the order of those to one rank.
  using Send = std::function<void(int rank, comm::Bytes word)>;
  /// ok while these ranks of MPI_COMM_WORLD live.
  using Check = std::function<Status(std::span<const int> ranks)>;

  ControlExchanges(Send tell, Check check) : send_(std::move(tell)), check_(std::move(check)) {}

  /// Among `ranks` of MPI_COMM_WORLD, of which this is number `own`; `key`: the same on all of them, and of no other
  /// exchange. It waits as long as MPI would, but not for ranks that died. This object outlives it.
  std::unique_ptr<comm::Exchange> open(std::uint64_t key, std::vector<int> ranks, int own);

  /// Handles a control message that has come. From any thread. False: it is not one of these.
  bool on_message(int from, const comm::Bytes& word);
  /// Ends all of them: no rank comes any more.
  void end();

 private:
  class One;
  struct Round {
    std::map<int, comm::Bytes> items;  // by rank of MPI_COMM_WORLD; as far as they have come
    std::size_t whole = 0;             // of them
  };

  const Send send_;
  const Check check_;
  std::mutex mutex_;
  std::condition_variable came_;
  bool ended_ = false;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Round> rounds_;  // by key and number
};

}  // namespace sennit::shim::mpi
