// Lets ranks of different nodes ask each other beside the program, in control messages between their processes
// (comm/agent.h). A process's own thread answers, so no rank waits for a program that computes.
//
// - Do you look at all you receive? A long message to such a rank may go by msg::Pipeline. One that does not yet says
//   so when it does.
// - What do you announce by so many bytes? Who probes finds the RTS, not what it says.
// - Have you come to this collective call? A rank that has messages under way between nodes must see to them until
//   those that they are for have come: a blocking call of the MPI would not.
// - Have you come to this call that no vote counts (call_scope.h)? Such calls are counted by their name, and a rank
//   that has not come yet answers when it does.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"
#include "comm/wire.h"
#include "msg/carrier.h"
#include "shim/mpi/comm/collective_vote.h"

namespace sennit::shim::mpi {

/// Ranks are those of MPI_COMM_WORLD. Thread-safe.
class PeerQuery {
 public:
  using Clock = std::chrono::steady_clock;
  /// Sends as ControlExchanges::Tell does. Check returns ok while the rank lives.
  using Send = std::function<void(int rank, comm::Bytes word)>;
  using Check = std::function<Status(int rank)>;

  PeerQuery(Send tell, Check check) : send_(std::move(tell)), check_(std::move(check)) {}

  // The first question is which ranks look at all they receive.
  /// This process does, from now on.
  void listen();
  /// Returns whether `rank` looks at all it receives, as far as it has said. The first time the rank is asked, and
  /// its answer is waited for: that takes some tens of µs, and is not more than `patience`.
  bool listens(int rank, Clock::duration patience);
  /// Returns the ranks that know that this process listens: others announce nothing to it.
  std::vector<int> announcers() const;

  /// While one lives, this process tells no further rank that it listens.
  class RtsHold {
   public:
    RtsHold() = default;
    explicit RtsHold(PeerQuery& all) : all_(&all) { all_->be_silent(); }
    RtsHold(RtsHold&& other) noexcept : all_(std::exchange(other.all_, nullptr)) {}
    RtsHold& operator=(RtsHold&&) = delete;
    ~RtsHold() {
      if (all_ != nullptr) all_->speak();
    }

   private:
    PeerQuery* all_ = nullptr;
  };

  // The second question is what a rank announces.
  /// Sets what this process announces in this slot, from now on; no value: nothing.
  void announce(int slot, const std::optional<msg::Announced>& what);
  /// Returns what `rank`, which must be one of announcers(), announces in this slot now. Waits for the answer; no
  /// value also where the rank was lost.
  std::optional<msg::Announced> announced(int rank, int slot);

  // The third question is which ranks have come to a call.
  /// This rank's vote of the communicator called `key` on all its ranks. It outlives this.
  void join(std::uint64_t key, const CollectiveVote& vote);
  void leave(std::uint64_t key);
  void leave_all();
  /// Returns whether `rank` has come to call `number` of that communicator; false while that is not known. To be
  /// asked again and again.
  bool came(int rank, std::uint64_t key, std::uint64_t number, Clock::time_point now = Clock::now());

  // The fourth question is which ranks have come to a call that no vote counts.
  /// This process begins its next call of what all its ranks call `name`: its number, from 1.
  std::uint64_t arrive(std::uint64_t name);
  /// Returns whether `rank` has come to its call of that number; false while that is not known. To be asked again and
  /// again.
  bool arrived(int rank, std::uint64_t name, std::uint64_t number);
  /// This process makes no further call of that name. Others may still ask for a while whether it has come.
  void end(std::uint64_t name);

  /// Handles a control message that has come. From any thread. False: it is not one of these.
  bool on_message(int from, const comm::Bytes& word);

 private:
  friend class RtsHold;
  void be_silent();
  void speak();
  /// Returns whether `rank` may be told, and is noted as told; with the mutex held.
  bool may_tell(int rank);
  void tell_all_who_asked();
  /// Handles a whole control message and its numbers, with the mutex held.
  void on_message(int from, std::uint64_t what, std::span<const std::uint64_t> numbers);

  /// Says what a rank has answered to whether it listens.
  enum class Said : std::uint8_t { nothing, later, yes };
  /// Says how far another rank has come in a communicator, and when it is asked again.
  struct Arrival {
    std::uint64_t number = 0;
    Clock::time_point ask_at;
    Clock::duration patience{};
  };

  const Send send_;
  const Check check_;
  mutable std::mutex mutex_;
  std::condition_variable came_;
  bool listening_ = false;
  int silent_ = 0;
  std::set<int> told_, waiting_;  // that this process listens; to hear so
  std::map<int, Said> said_;      // by rank that was asked
  std::map<int, msg::Announced> announced_;
  std::uint64_t asked_ = 0;
  std::map<std::uint64_t, std::optional<msg::Announced>> answers_;  // by question
  std::map<std::uint64_t, const CollectiveVote*> votes_;            // by key
  std::map<std::pair<std::uint64_t, int>, Arrival> arrivals_;       // by key and rank
  /// Says how far another rank has come to calls that no vote counts, and up to where it was asked.
  struct Reached {
    std::uint64_t number = 0, asked = 0;
  };
  std::map<std::uint64_t, std::uint64_t> calls_;                                // of this process, by name
  std::map<std::pair<std::uint64_t, int>, Reached> reached_;                    // by name and rank
  std::map<std::uint64_t, std::vector<std::pair<int, std::uint64_t>>> asking_;  // by name: ranks to tell, and when
  std::deque<std::uint64_t> ended_;                                             // names, oldest first
};

}  // namespace sennit::shim::mpi
