// An agent is what a group does beside its callers: it keeps a connection open to every peer of the node (and, on
// leaders, to other nodes), hands out files, notices deaths and spreads bad news. All agents of a process share one
// thread (reactor.h); the failure of one group is no other group's.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <vector>

#include "comm/frame.h"
#include "comm/membership.h"
#include "comm/reactor.h"

namespace sennit::comm {

/// An authenticated connection to a peer.
struct PeerLink {
  int rank = 0;
  UniqueFd fd;
  bool same_node = true;  ///< a Unix socket: can carry files. Otherwise TCP between leaders.
};

/// All methods may be called from any thread. News travels by flooding: each rank's death, and the first other
/// failure, an agent passes on to every other link, once. The first of all is the group's, so every rank ends up with
/// one cause, and usually the same one.
class Agent {
 public:
  /// `members` describes all ranks, `leaders` names the leader of each one's node; both outlive the agent. Errors:
  /// out_of_memory, system_error.
  static Result<std::unique_ptr<Agent>> start(int rank, const std::vector<Member>& members,
                                              const std::vector<int>& leaders, std::vector<PeerLink> links);
  /// Says goodbye on every link, so that leaving is not taken for death.
  ~Agent();

  /// Takes part in fetch() under the number returned until withdrawn.
  std::uint64_t offer(UniqueFd file);
  void withdraw(std::uint64_t id);
  /// Fetches a duplicate of what `peer` (this rank included) offers under `id`, closed on exec. Errors:
  /// invalid_argument (not of this node); not_found (nothing under this number); out_of_memory (no descriptors left);
  /// peer_lost, aborted, timed_out.
  Result<UniqueFd> fetch(int peer, std::uint64_t id, Deadline deadline);
  /// begin_fetch() and fetched() are fetch() in two steps, for callers that must not wait: begin_fetch() returns the
  /// number of a request, and fetched() its result, once, or nothing while there is no answer yet.
  Result<std::uint64_t> begin_fetch(int peer, std::uint64_t id);
  std::optional<Result<UniqueFd>> fetched(std::uint64_t request);

  /// Makes a peer of this node call what it gave to on_nudge(); the nudge is lost where it gave nothing.
  void nudge(int peer);
  /// Sets what nudges call, instead of what was set before. The agent's thread calls it, and must not be kept
  /// waiting.
  void on_nudge(std::function<void()> call);

  bool failed() const { return failed_.load(std::memory_order_acquire); }
  /// Returns the first failure; ok while there is none.
  Status failure() const;
  /// Returns the first failure that matters to somebody who talks to, or waits for, `peers` alone: the death of one
  /// of them, or of a leader by whom messages to them go; or a failure that is no rank's death. Ok where only others
  /// have died.
  Status failure(std::span<const int> peers) const;
  /// Has `peer` said goodbye?
  bool has_left(int peer) const;
  /// Excuses peers from now on: one that is gone without a goodbye has left, and is not taken to have died, where
  /// `has_ended` says so of it. That is asked once the peer is gone, from the agent's thread, which holds no lock
  /// then.
  void excuse(std::function<bool(int peer)> has_ended);
  /// Ends the group for everyone, with this as the reason.
  void fail(const Status& why) { fail(why, nullptr, kNobody); }
  /// Called once, from the agent's thread, with the first failure; soon, if there was one already.
  void on_failure(std::function<void(const Status&)> call);

  /// Sends `what` to `peer` of any node, by way of leaders where there is no link. Messages of one rank to another
  /// come in order. One may be lost: where its reader has no on_message() yet, or somebody on its way leaves. A
  /// message of more than kLargestWord bytes is not sent, and the group fails: its reader would take this rank for
  /// dead.
  void tell(int peer, Bytes what);
  /// Sets what is called with control messages for this rank, from now on. The agent's thread calls it, and must not
  /// be kept waiting.
  void on_message(std::function<void(int from, const Bytes& what)> call);

 private:
  struct Link {
    PeerLink peer;
    FrameReader reader;  // agent's thread only
    std::mutex mutex;    // guards what follows, and peer.fd's closing
    std::deque<FrameWriter> outbox;
    bool open = true;
  };
  struct Request {
    int peer = 0;
    std::uint64_t id = 0;
    bool answered = false;
    bool found = false;
    UniqueFd file;
  };

  Agent(int rank, const std::vector<Member>& members, const std::vector<int>& leaders)
      : rank_(rank), members_(members), leaders_(leaders) {}
  void react(std::uint32_t number, std::uint32_t events);
  /// Fails because memory ran out: what was to be received or sent is lost, no peer can rely on this rank any more,
  /// and the others are to hear of it.
  void run_out_of_memory();
  void hear(Link& link);
  void handle(Link& link, Frame frame);
  void answer(Link& link, const Frame& frame);
  void deliver(const Frame& frame, UniqueFd file);
  void lost(Link& link);
  /// Notes that a peer has left.
  void part(int peer);
  void close(Link& link);
  static constexpr int kNobody = -1;
  bool same_node(int peer) const { return leaders_[std::size_t(peer)] == leaders_[std::size_t(rank_)]; }
  /// `dead`: whose death it is.
  void fail(const Status& why, const Link* from, int dead);
  bool send(Link& link, Frame frame);
  void flush(Link& link);
  void call_back();
  /// Returns a request's result, or nothing while there may still be an answer. The caller holds the mutex.
  std::optional<Result<UniqueFd>> outcome(std::uint64_t number);
  void say_goodbye();
  void wake();
  Link* link_to(int peer);
  Link* link_towards(int peer);
  void pass_on(int to, Frame word);
  void hear_word(Frame word);
  void close_all_after_fork();

  const int rank_;
  const std::vector<Member>& members_;
  const std::vector<int>& leaders_;
  std::vector<std::unique_ptr<Link>> links_;
  UniqueFd event_;
  std::atomic<bool> failed_{false};

  mutable std::mutex mutex_;  // guards what follows; never held while a link's is being taken
  std::condition_variable changed_;
  Status failure_, other_failure_;  // the first, and the first that is no rank's death
  std::map<int, Status> deaths_;    // by rank
  std::set<int> left_;
  std::map<std::uint64_t, UniqueFd> offers_;
  std::map<std::uint64_t, Request> requests_;
  std::uint64_t next_offer_ = 1, next_request_ = 1;
  std::vector<std::function<void(const Status&)>> callbacks_;
  std::function<bool(int)> has_ended_;
  std::mutex messages_mutex_;  // held while the call is made: none is under way once on_message() has replaced it
  std::function<void(int, const Bytes&)> on_message_;
  std::function<void()> on_nudge_;  // guarded by messages_mutex_

  pid_t owner_ = 0;
  std::shared_ptr<Reactor> reactor_;  // null until start() has done
  std::uint64_t client_ = 0;          // of the reactor

  friend class ForkGuard;
};

}  // namespace sennit::comm
