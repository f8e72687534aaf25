#include "shim/mpi/comm/comm_registry.h"

#include <algorithm>
#include <random>

#include <fmt/format.h>

#include "base/backoff.h"
#include "shim/mpi/comm/handshake.h"

namespace sennit::shim::mpi {

CommRegistry::CommRegistry(const Mpi& mpi, std::unique_ptr<comm::Group> group, Between between)
    : mpi_(mpi),
      group_(std::move(group)),
      between_(between),
      node_vote_(std::make_unique<NodeVote>(
          [group = group_.get()](int rank, comm::Bytes word) { group->tell(rank, std::move(word)); })),
      control_exchanges_(std::make_unique<ControlExchanges>(
          [group = group_.get()](int rank, comm::Bytes word) { group->tell(rank, std::move(word)); },
          [group = group_.get()](std::span<const int> ranks) { return group->check(ranks); })),
      peer_query_(std::make_unique<PeerQuery>(
          [group = group_.get()](int rank, comm::Bytes word) { group->tell(rank, std::move(word)); },
          [group = group_.get()](int rank) {
            return group->check({&rank, 1});
          })),
      scopes_(mpi_, group_->rank()) {
  group_->on_message([this](int from, const comm::Bytes& word) {
    if (!control_exchanges_->on_message(from, word) && !peer_query_->on_message(from, word))
      node_vote_->on_message(from, word);
  });
}

CommRegistry::~CommRegistry() {
  control_exchanges_->end();
  peer_query_->leave_all();
  node_vote_->leave_all();
  all_.clear();
  group_->on_message(nullptr);
}

Result<std::unique_ptr<CommRegistry>> CommRegistry::create(const Mpi& mpi, Between between) {
  CommShape world;
  if (const int code = mpi.shape(mpi.comm_world(), world); code != 0)
    return Status(Code::system_error, fmt::format("MPI_Comm_rank returned error {}", code));
  auto group = comm::Group::create(exchange_over(mpi, mpi.comm_world(), world));
  if (!group) return group.status();
  std::unique_ptr<CommRegistry> made(new CommRegistry(mpi, std::move(*group), between));
  std::random_device random;
  std::uint64_t mine = std::uint64_t{random()} << 32 | random();
  std::vector<std::uint64_t> all(static_cast<std::size_t>(world.size));
  // Every rank handles control messages after this.
  if (const int code = mpi.all_gather(mpi.comm_world(), &mine, all.data(), sizeof mine); code != 0)
    return Status(Code::system_error, fmt::format("MPI_Allgather returned error {}", code));
  made->job_ = all.front();
  Handle beside = kNoHandle;
  const bool several = made->group_->leaders().size() > 1;
  if (several && mpi.split(mpi.comm_world(), 0, world.rank, beside) == 0) made->beside_ = beside;
  return made;
}

CommRegistry::Members CommRegistry::ask_members(Handle comm) const {
  Members members;
  if (comm == mpi_.comm_null() || mpi_.world_ranks(comm, members.ranks) != 0) members.ranks.clear();
  // The other side's, where there are two groups: its ranks know this side's.
  if (std::ranges::find(members.ranks, group_->rank()) == members.ranks.end()) return members;
  members.name = name_of(members.ranks);
  return members;
}

CommRegistry::Peer CommRegistry::peer(Handle comm, int rank) {
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = members_.find(comm); found != members_.end()) return found->second.peer(rank);
  }
  Members members = ask_members(comm);
  const Peer peer = members.peer(rank);
  const std::unique_lock lock(mutex_);
  members_[comm] = std::move(members);
  return peer;
}

void CommRegistry::name(Shared kind, Handle made, Handle comm) {
  const CommState* const one = find(comm);
  if (one != nullptr && one->ready && one->vote != nullptr) scopes_.name(kind, made, one->key, one->vote->latest());
}

Status CommRegistry::check(Handle comm) const {
  if (!group_->failed()) return {};
  if (const CommState* const one = find(comm)) return check(*one);
  std::vector<int> ranks;
  if (comm == mpi_.comm_world() || comm == mpi_.comm_null() || mpi_.all_world_ranks(comm, ranks) != 0)
    return group_->check();
  return group_->check(ranks);
}

Status CommRegistry::both_come(Handle comm, int leader, Handle between, int remote, int tag,
                               const Meanwhile& meanwhile) {
  const auto all = scopes_.of(comm);
  const bool whole = all && all->whole;
  CommShape shape;
  if (mpi_.shape(comm, shape) != 0) return {};
  if (whole && !all_come(comm, meanwhile)) return check(comm);
  // A leader of another job may have no such message to send; one of this job sends it whoever is in its group.
  if (shape.rank == leader && peer(between, remote).world_rank >= 0) {
    Handle requests[2] = {};
    if (mpi_.begin_receive(between, nullptr, 0, remote, tag, requests[0]) != 0) return {};
    if (mpi_.begin_send(between, nullptr, 0, remote, tag, requests[1]) != 0) return {};
    for (const Handle request : requests)
      if (finish(between, request, meanwhile) == kNeverDone) return check(between);
  }
  return !whole || all_come(comm, meanwhile) ? Status() : check(comm);
}

void CommRegistry::listen() {
  group_->slots(group_->rank()).presence.listens.store(1, std::memory_order_release);
  peer_query_->listen();
}

bool CommRegistry::listens(int world_rank) {
  return group_->slots(world_rank).presence.listens.load(std::memory_order_acquire) != 0;
}

bool CommRegistry::came_elsewhere(const CommState& one, std::span<const int> awaited) {
  const auto came = [&](int rank) { return peer_query_->came(rank, one.key, one.vote->latest()); };
  bool all = true;  // each is asked, so that their answers come at the same time
  bool others = false;
  for (const int rank : awaited) {
    const bool member = std::ranges::find(one.ranks, rank) != one.ranks.end();
    others = others || !member;
    all = (!member || came(rank)) && all;
  }
  if (!others) return all;
  for (const int rank : one.ranks) all = (rank < 0 || group_->same_node(rank) || came(rank)) && all;
  return all;
}

void CommRegistry::changed() {
  static std::atomic<std::uint64_t> states{0};
  state_.store(++states, std::memory_order_release);
}

CommState* CommRegistry::find(Handle comm) const {
  // Asked in every collective call, also of host buffers, and mostly for the same one.
  struct Latest {
    std::uint64_t state = 0;
    Handle comm = 0;
    CommState* one = nullptr;
  };
  thread_local Latest latest;
  const std::uint64_t state = state_.load(std::memory_order_acquire);
  if (state != 0 && latest.state == state && latest.comm == comm) return latest.one;
  const std::shared_lock lock(mutex_);
  const auto found = all_.find(comm);
  CommState* const one = found != all_.end() ? found->second.get() : nullptr;
  latest = {state, comm, one};
  return one;
}

int CommRegistry::finish(Handle comm, Handle request, const Meanwhile& meanwhile) const {
  bool done = false;
  for (Backoff backoff;; backoff.wait()) {
    if (const int code = mpi_.done_quietly(comm, request, done); code != 0 || done) return code;
    if (!check(comm).ok() || mpi_.revoked(comm)) return kNeverDone;
    meanwhile();
  }
}

bool CommRegistry::all_come(Handle comm, const Meanwhile& meanwhile) const {
  Handle request = 0;
  return check(comm).ok() && mpi_.begin_barrier(comm, request) == 0 && finish(comm, request, meanwhile) == 0;
}

}  // namespace sennit::shim::mpi
