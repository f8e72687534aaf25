// Holds the host side of a communicator: who its ranks are, which of them share a node, whether all still live.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/agent.h"
#include "comm/control.h"
#include "comm/exchange.h"
#include "comm/membership.h"

namespace sennit::comm {

/// Ranks form a node when they run under one kernel (boot id) and one SENNIT_NODE, as one user, and can reach each
/// other's Unix sockets: different network namespaces fall apart, different PID or mount namespaces do not matter.
/// Unless said otherwise any thread may call. It is long: a job's ranks are one thing.
class Group {
 public:
  /// Collective. Meets every rank through `exchange`, which stays with the group. Errors are the same on every
  /// rank and name the one that failed; timed_out within a few SENNIT_TIMEOUTs when a rank stopped taking part.
  /// `limit`: of every wait of the group, instead of SENNIT_TIMEOUT.
  static Result<std::unique_ptr<Group>> create(std::unique_ptr<Exchange> exchange,
                                               std::optional<Clock::duration> limit = std::nullopt);
  /// Leaves in order: peers do not take it for a death. Not collective, but a rank that still waits for this one
  /// gets peer_lost. In a child made by fork() it does nothing.
  ~Group();

  int rank() const { return exchange_->rank(); }
  int size() const { return exchange_->size(); }
  const Member& member(int rank) const { return members_[std::size_t(rank)]; }
  bool same_node(int rank) const { return node_of_[std::size_t(rank)] == leader(); }
  /// Returns the ranks of this node, ascending, this one included.
  std::span<const int> node_ranks() const { return node_ranks_; }
  /// Returns the lowest rank of this node.
  int leader() const { return node_ranks_.front(); }
  /// Returns the lowest rank of another one's node.
  int leader_of(int rank) const { return node_of_[std::size_t(rank)]; }
  /// Leaders of all nodes, ascending.
  std::span<const int> leaders() const { return leaders_; }
  /// Returns the position of a rank of this node in node_ranks(): its number in the control segment; -1 for other
  /// ranks.
  int node_index(int rank) const;

  /// Collective and one call at a time, as the exchange is.
  Exchange& exchange() { return *exchange_; }

  /// Files: a rank offers an open file (memfd, CUDA VMM handle …) under a number, which it tells its peers by
  /// other means; a rank of the node fetches a duplicate. Errors of fetch: as Agent::fetch.
  Result<std::uint64_t> offer(UniqueFd file);
  void withdraw(std::uint64_t id);
  Result<UniqueFd> fetch(int peer, std::uint64_t id) const;

  /// Shared by the ranks of this node, all zero at first.
  const ControlSegment& control() const { return control_; }
  /// Returns the words of a rank of this node.
  RankSlots& slots(int rank) const { return control_.slots(node_index(rank)); }

  /// Records what this rank is doing, for the error message of a peer whose wait for it fails.
  void note(std::string_view operation, std::uint64_t sequence, int peer, std::uint64_t bytes) const;
  /// Returns what a rank noted last; its name is empty when nothing is known of it (another node, or nothing noted
  /// yet).
  Operation last_operation(int rank) const;

  /// ok; or peer_lost, naming the rank that died; or aborted, naming who aborted and why. The first failure
  /// stays. One atomic load while all is well.
  Status check() const { return agent_->failure(); }
  /// Returns ok also where only ranks other than `ranks` have died, for a caller that waits for `ranks` alone. Ranks
  /// of other nodes are lost with a leader by whom messages to them go. Negative ranks are ignored.
  Status check(std::span<const int> ranks) const { return agent_->failure(ranks); }
  bool failed() const { return agent_->failed(); }
  /// Has this rank, of this node, left in order? (It may be waited for no longer.)
  bool has_left(int rank) const { return agent_->has_left(rank); }
  /// Prepares for programs that may end without this object's destructor: from now on a rank of this node that is
  /// gone has left in order where `has_ended` says so of it; see Agent::excuse.
  void excuse(std::function<bool(int rank)> has_ended) { agent_->excuse(std::move(has_ended)); }
  /// Ends the group on every rank: node peers hear of it within milliseconds, other nodes by their leaders'
  /// connection to rank 0. Returns at once; waits everywhere end with `aborted`.
  void abort(const Status& why);
  /// Calls once, from the agent's thread, with the first failure (death or abort), also when that has been
  /// before. The call must neither wait nor destroy a group: all groups of the process
  /// share that thread.
  void on_abort(std::function<void(const Status&)> call) { agent_->on_failure(std::move(call)); }

  /// These fetch without waiting, and wake a peer that sleeps: see Agent.
  Result<std::uint64_t> begin_fetch(int peer, std::uint64_t id) { return agent_->begin_fetch(peer, id); }
  std::optional<Result<UniqueFd>> fetched(std::uint64_t request) { return agent_->fetched(request); }
  void nudge(int peer) { agent_->nudge(peer); }
  void on_nudge(std::function<void()> call) { agent_->on_nudge(std::move(call)); }

  /// Sends a control message between ranks of any nodes, which takes some tens of µs for each connection on its way:
  /// see Agent::tell, on_message.
  void tell(int peer, Bytes what) { agent_->tell(peer, std::move(what)); }
  void on_message(std::function<void(int from, const Bytes& what)> call) { agent_->on_message(std::move(call)); }

  /// Returns the limit that create() was given, or SENNIT_TIMEOUT's value at that time.
  Clock::duration limit() const { return limit_; }

 private:
  friend class GroupBuilder;
  Group() = default;

  std::unique_ptr<Exchange> exchange_;
  std::vector<Member> members_;
  std::vector<int> node_of_;  // by rank: leader of its node
  std::vector<int> node_ranks_, leaders_;
  ControlSegment control_;
  Clock::duration limit_{};
  std::unique_ptr<Agent> agent_;  // last: ends first, while what it refers to still stands
};

}  // namespace sennit::comm
