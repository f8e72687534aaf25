// Creates a group, in numbered steps; see docs/develop/comm.md. A rank that fails in one step still takes part in the
// next agreement, and reports there: so all ranks fail together.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include <fmt/format.h>

#include "comm/group.h"
#include "comm/handshake.h"
#include "comm/secret.h"
#include "comm/socket.h"

namespace sennit::comm {

class GroupBuilder {
 public:
  GroupBuilder(std::unique_ptr<Exchange> exchange, std::optional<Clock::duration> limit)
      : group_(new Group), given_limit_(limit) {
    group_->exchange_ = std::move(exchange);
    if (limit) group_->exchange_->set_limit(*limit);
    rank_ = group_->rank();
    size_ = group_->size();
  }

  Result<std::unique_ptr<Group>> build() {
    if (Status status = introduce(); !status.ok()) return status;
    if (Status status = find_nodes(); !status.ok()) return status;
    attempt([this] { return join_node(); });
    attempt([this] { return share_control(); });
    if (group_->leaders_.size() > 1)
      if (Status status = join_nodes(); !status.ok()) return status;
    attempt([this] { return start_agent(); });
    // 7. No rank goes on before all can: from here on a death is noticed by the agents.
    Result<std::vector<Bytes>> done = agree(exchange(), mine_, {});
    if (!done) return std::move(done).status().in("group");
    return std::move(group_);
  }

 private:
  Exchange& exchange() { return *group_->exchange_; }
  Deadline deadline() const { return Deadline::after(group_->limit_); }

  template <class Step>
  void attempt(Step step) {
    if (mine_.ok()) mine_ = step();
  }

  // 1. Everyone listens at a socket of its own, then describes itself to all.
  Status introduce() {
    Member self;
    attempt([&]() -> Status {
      const Result<Clock::duration> limit = given_limit_ ? Result<Clock::duration>(*given_limit_) : wait_limit();
      if (!limit) return limit.status();
      group_->limit_ = *limit;
      Result<Member> described = describe_self(rank_);
      if (!described) return described.status();
      self = *described;
      Result<UniqueFd> listener = listen_unix(self.socket);
      if (!listener) return listener.status();
      listener_ = std::move(*listener);
      return {};
    });
    const Result<std::vector<Bytes>> all = agree(exchange(), mine_, encode(self));
    if (!all) return all.status().in("group");
    Bytes nonces;
    for (const Bytes& item : *all) {
      Result<Member> member = decode_member(item);
      if (!member) return std::move(member).status().in(fmt::format("group: rank {}", group_->members_.size()));
      if (member->rank != int(group_->members_.size()))
        return Status(Code::mismatch,
                      fmt::format("rank {} came in place {} of the exchange", member->rank, group_->members_.size()),
                      "group", "Return items in the order of ranks from the exchange function");
      const auto bytes = std::as_bytes(std::span(member->nonce));
      nonces.insert(nonces.end(), bytes.begin(), bytes.end());
      group_->members_.push_back(std::move(*member));
    }
    // 2. The key of this group: fresh, because every rank's random number is in it; secret, as far as the
    //    exchange has a secret.
    const std::string secret = exchange().secret();
    key_ = hex(hmac_sha256(std::as_bytes(std::span(secret)), nonces));
    return {};
  }

  // 3. Each rank tries the sockets of the ranks below it, and all agree on who forms a node.
  Status find_nodes() {
    std::vector<int> reached;
    const Member& self = group_->members_[std::size_t(rank_)];
    for (int peer = 0; peer < rank_; ++peer) {
      const Member& other = group_->members_[std::size_t(peer)];
      if (!may_share_node(self, other)) continue;
      Result<UniqueFd> fd = connect_unix(other.socket, deadline());
      if (!fd && fd.status().code() != Code::not_found) attempt([&] { return fd.status(); });
      if (!fd || peer_uid(fd->get()) != self.uid) continue;
      reached.push_back(peer);
      connections_.emplace(peer, std::move(*fd));
    }
    Writer writer;
    writer.number(reached.size());
    for (const int peer : reached) writer.number(std::uint64_t(peer));
    const Result<std::vector<Bytes>> all = agree(exchange(), mine_, writer.take());
    if (!all) return all.status().in("group");
    std::vector<std::vector<int>> everyone;
    for (const Bytes& item : *all) {
      Reader reader(item);
      std::vector<int> one(std::min<std::size_t>(reader.number(), item.size() / 8));
      for (int& peer : one) peer = int(reader.number());
      if (Status status = reader.finish(); !status.ok()) return std::move(status).in("group");
      everyone.push_back(std::move(one));
    }
    group_->node_of_ = divide(everyone);
    for (int peer = 0; peer < size_; ++peer) {
      if (group_->node_of_[peer] == peer) group_->leaders_.push_back(peer);
      if (group_->node_of_[peer] == group_->node_of_[rank_]) group_->node_ranks_.push_back(peer);
    }
    std::erase_if(connections_, [&](const auto& one) { return !group_->same_node(one.first); });
    return {};
  }

  // 4. Within a node everyone is connected with everyone. First down, then up: rank order prevents deadlock.
  Status join_node() {
    const Deadline end = deadline();
    std::set<int> above;
    for (const int peer : group_->node_ranks_) {
      if (peer > rank_) above.insert(peer);
      if (peer >= rank_) continue;
      Status status = knock(connections_[peer].get(), {"node", key_, peer, size_}, rank_, end);
      if (!status.ok()) return std::move(status).in(fmt::format("join rank {} of the node", peer));
      links_.push_back({peer, std::move(connections_[peer]), true});
    }
    Admitted admitted = admit(listener_.get(), {"node", key_, rank_, size_}, above, true, end);
    for (auto& [peer, fd] : admitted.ranks) links_.push_back({peer, std::move(fd), true});
    listener_.reset();
    return admitted.status;
  }

  // 5. The leader makes the control segment and passes it on.
  Status share_control() {
    const int ranks = int(group_->node_ranks_.size());
    const bool leads = rank_ == group_->leader();
    UniqueFd file;
    if (!leads) {
      Result<Frame> frame = receive_frame(links_.front().fd.get(), Kind::segment, deadline());
      if (!frame) return std::move(frame).status().in(fmt::format("control segment from rank {}", group_->leader()));
      file = std::move(frame->file);
    }
    Result<ControlSegment> segment =
        leads ? ControlSegment::make(ranks) : ControlSegment::open(std::move(file), ranks);
    if (!segment) return segment.status();
    group_->control_ = std::move(*segment);
    if (!leads) return {};
    for (const PeerLink& link : links_) {
      UniqueFd copy(::fcntl(group_->control_.file(), F_DUPFD_CLOEXEC, 0));
      if (!copy) return system_status("duplicate a descriptor", errno, {});
      Status status = send_frame(link.fd.get(), {Kind::segment, {}, std::move(copy)}, deadline());
      if (!status.ok()) return std::move(status).in(fmt::format("control segment to rank {}", link.rank));
    }
    return {};
  }

  // 6. Leaders of several nodes connect to rank 0, so that bad news crosses nodes.
  Status join_nodes() {
    const auto& members = group_->members_;
    const bool one_network = std::ranges::all_of(
        members, [&](const Member& m) { return m.host == members[0].host && m.network == members[0].network; });
    UniqueFd listener;
    Writer where;
    if (rank_ == 0)
      attempt([&]() -> Status {
        Result<UniqueFd> fd = listen_tcp({one_network ? "127.0.0.1" : "*", "0"});
        if (!fd) return fd.status();
        listener = std::move(*fd);
        const auto addresses = one_network ? std::vector<std::string>{"127.0.0.1"} : own_addresses();
        where.number(std::uint64_t(local_port(listener.get()))).number(addresses.size());
        for (const std::string& address : addresses) where.text(address);
        return {};
      });
    const Result<std::vector<Bytes>> all = agree(exchange(), mine_, where.take());
    if (!all) return all.status().in("group");
    const Door door{"nodes", key_, 0, size_};
    if (rank_ == 0) {
      std::set<int> others(group_->leaders_.begin() + 1, group_->leaders_.end());
      Admitted admitted = admit(listener.get(), door, others, false, deadline());
      for (auto& [peer, fd] : admitted.ranks) links_.push_back({peer, std::move(fd), false});
      attempt([&] { return admitted.status; });
    } else if (rank_ == group_->leader()) {
      attempt([&] { return call_first_node((*all)[0], door); });
    }
    return {};
  }

  Status call_first_node(const Bytes& where, const Door& door) {
    Reader reader(where);
    const std::string port = std::to_string(reader.number());
    std::vector<std::string> addresses(std::min<std::size_t>(reader.number(), where.size() / 8));
    for (std::string& address : addresses) address = reader.text();
    if (Status status = reader.finish(); !status.ok()) return status;
    const Deadline end = deadline();
    Status last(Code::not_found, "rank 0 gives no address");
    // Some of a host's addresses lead nowhere from here: each gets two seconds.
    for (const std::string& address : addresses) {
      const Deadline patience = end.at_most(std::chrono::seconds(2));
      Result<UniqueFd> fd = connect_tcp({address, port}, patience);
      last = fd.status();
      if (!fd) continue;
      last = knock(fd->get(), door, rank_, patience);
      if (!last.ok()) continue;
      links_.push_back({0, std::move(*fd), false});
      return {};
    }
    return std::move(last).in("reach rank 0 from another node");
  }

  Status start_agent() {
    Result<std::unique_ptr<Agent>> agent = Agent::start(rank_, group_->members_, group_->node_of_, std::move(links_));
    if (!agent) return agent.status();
    group_->agent_ = std::move(*agent);
    // The agent ends before the exchange does.
    group_->agent_->on_failure([exchange = group_->exchange_.get()](const Status&) { exchange->cancel(); });
    return {};
  }

  std::unique_ptr<Group> group_;
  std::optional<Clock::duration> given_limit_;
  int rank_ = 0, size_ = 1;
  Status mine_;  // this rank's first failure, not yet agreed on
  std::string key_;
  UniqueFd listener_;
  std::map<int, UniqueFd> connections_;  // to lower ranks, not yet authenticated
  std::vector<PeerLink> links_;
};

Result<std::unique_ptr<Group>> Group::create(std::unique_ptr<Exchange> exchange,
                                             std::optional<Clock::duration> limit) {
  return GroupBuilder(std::move(exchange), limit).build();
}

}  // namespace sennit::comm
