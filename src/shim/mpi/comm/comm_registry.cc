#include "shim/mpi/comm/comm_registry.h"

#include <algorithm>
#include <random>

#include <fmt/format.h>

#include "base/backoff.h"
#include "base/log.h"
#include "base/thread.h"
#include "coll/team.h"

namespace sennit::shim::mpi {

/// What a rank tells the others of a communicator.
struct CommInfo {
  std::uint64_t key = 0;
  int slot = -1;
  Between between = Between::rails;
  bool lost = false;  // a rank, or one by whom words go from node to node
};

/// What MPI works on until all ranks have given their cards.
struct Handshake {
  CommInfo mine;
  std::vector<CommInfo> all;
  Handle request = 0;
  int code = 0;  // MPI's
};

CommState::CommState() = default;
CommState::~CommState() {
  if (making.joinable()) making.join();
}

/// What was begun on a revoked communicator, or with a lost rank, never ends, and MPI may write there as long as the
/// process lives.
void CommRegistry::keep_for_ever(std::shared_ptr<void> pending) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<std::shared_ptr<void>>();
  const std::lock_guard lock(mutex);
  kept->push_back(std::move(pending));
}

namespace {

constexpr char kBeingFreed[] = "communicator that is being freed";
constexpr char kNotAsked[] = "its ranks could not be asked where they are";

constexpr int kNeverDone = -1;  ///< no code of MPI's: that one the real function gives

}  // namespace

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
  group_->on_word([this](int from, const comm::Bytes& word) {
    if (!control_exchanges_->on_message(from, word) && !peer_query_->on_message(from, word))
      node_vote_->on_message(from, word);
  });
}

CommRegistry::~CommRegistry() {
  control_exchanges_->end();
  peer_query_->leave_all();
  node_vote_->leave_all();
  all_.clear();
  group_->on_word(nullptr);
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
  // Behind this every rank hears words.
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

int CommRegistry::take_slot() {
  if (!free_slots_.empty()) {
    const int slot = free_slots_.back();
    free_slots_.pop_back();
    return slot;
  }
  return next_slot_ < comm::RankSlots::kVotes ? next_slot_++ : -1;
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

std::string CommRegistry::look_at(std::span<const CommInfo> cards, CommState& one) const {
  if (std::ranges::any_of(cards, [](const CommInfo& card) { return card.lost; })) return "a rank was lost";
  std::vector<int> leaders;
  for (const int rank : one.ranks) leaders.push_back(group_->leader_of(rank));
  Nodes nodes = nodes_of(one.ranks, leaders, one.shape.rank);
  std::vector<int> sizes(static_cast<std::size_t>(nodes.count));
  for (const net::Place& place : nodes.places) ++sizes[static_cast<std::size_t>(place.node)];
  if (std::ranges::max(sizes) > coll::kMostRanks) return fmt::format("more than {} ranks", coll::kMostRanks);
  if (nodes.count == 1) return {};
  if (!std::ranges::all_of(cards, [&](const CommInfo& card) { return card.between == between_; }))
    return "SENNIT_BETWEEN is not the same on all ranks";
  if (between_ == Between::staged) return "ranks on several nodes";
  one.nodes = std::move(nodes);
  return {};
}

CommState& CommRegistry::begin_handshake(Handle comm) {
  auto one = make(comm);
  const std::unique_lock lock(mutex_);
  changed();
  return *(all_[comm] = std::move(one));
}

std::unique_ptr<CommState> CommRegistry::make(Handle comm) {
  auto one = std::make_unique<CommState>();
  CommInfo mine{0, -1, between_};
  {
    const std::unique_lock lock(mutex_);
    mine.slot = take_slot();
    mine.key = std::uint64_t(std::uint32_t(group_->rank())) << 32 | ++met_;
  }
  one->slot = mine.slot;
  if (Leaving::is(comm))
    one->why_not = kBeingFreed;
  else if (comm == mpi_.comm_null() || mpi_.shape(comm, one->shape) != 0)
    one->why_not = "no communicator";
  else if (mpi_.all_world_ranks(comm, one->ranks) != 0)
    one->why_not = kNotAsked;
  else if (one->shape.inter)
    one->why_not = "communicator with two groups";
  // Those of another job may run without sennit, and could then not be asked: each rank sees some of another job.
  else if (std::ranges::any_of(one->ranks, [](int rank) { return rank < 0; }))
    one->why_not = "ranks of several jobs";
  if (one->why_not.empty()) {
    mine.lost = !check(*one).ok();
    if (mine.slot < 0) one->no_slot = std::make_unique<comm::Slot>();
    comm::Slot& slot = mine.slot >= 0 ? slot_of(group_->rank(), mine.slot) : *one->no_slot;
    for (auto& word : slot.words) word.store(0, std::memory_order_relaxed);
    one->vote = std::make_unique<CollectiveVote>(slot);
    one->handshake = std::make_unique<Handshake>();
    Handshake& handshake = *one->handshake;
    handshake.mine = mine;
    handshake.all.resize(static_cast<std::size_t>(one->shape.size));
    handshake.code =
        mpi_.begin_all_gather(comm, &handshake.mine, handshake.all.data(), sizeof mine, handshake.request);
  } else {
    finish_handshake(*one, {});
  }
  return one;
}

std::optional<std::vector<std::uint64_t>> CommRegistry::ask(Handle comm, const CommState& one, std::uint64_t mine,
                                                            const Meanwhile& meanwhile) const {
  struct Asking {
    std::uint64_t mine = 0;
    std::vector<std::uint64_t> all;
  };
  auto asking = std::make_shared<Asking>();
  asking->mine = mine;
  asking->all.resize(static_cast<std::size_t>(one.shape.size));
  Handle request = 0;
  int code = mpi_.begin_all_gather(comm, &asking->mine, asking->all.data(), sizeof mine, request);
  if (code == 0) code = finish(comm, request, meanwhile);
  if (code == kNeverDone) keep_for_ever(asking);
  return code == 0 ? std::optional(std::move(asking->all)) : std::nullopt;
}

std::shared_ptr<CommState> CommRegistry::repeat(Handle comm, CommState& one,
                                                Result<std::shared_ptr<device::Executor>> executor, int device,
                                                const Meanwhile& meanwhile) {
  const std::shared_ptr<CommState> made = one.persistent_calls.emplace_back(make(comm));
  for (Backoff backoff; !ready(comm, *made); backoff.wait()) meanwhile();
  if (!made->whole) return made;
  begin_to_match(*made, std::move(executor), device);
  for (Backoff backoff; !matched(*made); backoff.wait()) meanwhile();
  return made;
}

bool CommRegistry::ready(Handle comm, CommState& one) {
  if (one.ready) return true;
  Handshake& handshake = *one.handshake;
  bool done = false;
  if (handshake.code == 0) handshake.code = mpi_.done_quietly(comm, handshake.request, done);
  if (handshake.code == 0 && !done) {
    const bool lost = !check(one).ok();
    if (!lost && !mpi_.revoked(comm)) return false;
    one.broken = lost;
    keep_for_ever(std::move(one.handshake));
    one.why_not = kNotAsked;
    finish_handshake(one, {});
    return true;
  }
  std::vector<CommInfo> cards;
  if (handshake.code == 0) cards = std::move(handshake.all);
  one.handshake.reset();
  if (cards.empty()) one.why_not = kNotAsked;
  finish_handshake(one, std::move(cards));
  return true;
}

void CommRegistry::finish_handshake(CommState& one, std::vector<CommInfo> cards) {
  if (!cards.empty()) one.why_not = look_at(cards, one);
  if (!std::ranges::all_of(cards, [](const CommInfo& card) { return card.slot >= 0; })) {
    one.why_not = "too many communicators";
    cards.clear();
  }
  std::vector<comm::Slot*> seats;
  for (std::size_t i = 0; i < cards.size(); ++i)
    if (const int rank = one.ranks[i]; group_->same_node(rank)) seats.push_back(&slot_of(rank, cards[i].slot));
  if (!seats.empty()) {
    const bool seats_elsewhere = seats.size() < cards.size();
    one.vote->attach_slots(std::move(seats));
    one.whole = one.why_not.empty();
    one.key = cards.front().key;
    if (seats_elsewhere) peer_query_->join(one.key, *one.vote);
    if (one.whole && one.nodes && one.leads()) {
      std::vector<int> others = one.nodes->speakers;
      std::erase(others, group_->rank());
      node_vote_->join(one.key, *one.vote, std::move(others));
    }
  } else {
    one.vote.reset();
    const std::unique_lock lock(mutex_);
    if (one.slot >= 0) free_slots_.push_back(one.slot);
    one.slot = -1;
  }
  one.ready = true;
}

Status CommRegistry::take(CommState& one, Result<std::unique_ptr<OneNode>> made) {
  if (!made) return made.status();
  one.on_node = made->get();
  one.communicator = std::move(*made);
  return {};
}

void CommRegistry::say_unmatched(const CommState& one, const Status& status) const {
  if (one.shape.rank == 0)
    log(LogLevel::warning, fmt::format("collectives of a communicator of {} ranks go through host memory: {}",
                                       one.shape.size, status.text()));
}

void CommRegistry::match(Handle comm, CommState& one, Result<std::shared_ptr<device::Executor>> executor,
                         int device) {
  one.tried = true;
  Status status;
  if (one.nodes) {
    auto made = SeveralNodes::create(mpi_, comm, one.shape, *one.nodes, way(*one.nodes), std::move(executor), device);
    status = made.status();
    if (made) one.communicator = std::move(*made);
  } else {
    status = take(one, OneNode::create(exchange_over(mpi_, comm, one.shape), std::move(executor), device));
  }
  if (status.ok()) return;
  one.why_not = status.what();
  say_unmatched(one, status);
}

void CommRegistry::begin_to_match(CommState& one, Result<std::shared_ptr<device::Executor>> executor, int device) {
  one.tried = true;
  auto exchange = control_exchanges_->open(one.key, one.ranks, one.shape.rank);
  auto make = [&one, device, with = std::move(exchange), on = std::move(executor)]() mutable {
    one.result = OneNode::create(std::move(with), std::move(on), device);
    one.made.store(true, std::memory_order_release);
  };
  const auto shared = std::make_shared<decltype(make)>(std::move(make));
  // Where no thread can be had, the other ranks are waited for here: all have come to the call, or will.
  if (auto started = start_thread([shared] { (*shared)(); }))
    one.making = std::move(*started);
  else
    (*shared)();
}

std::optional<bool> CommRegistry::matched(CommState& one) {
  if (one.communicator != nullptr) return true;
  if (!one.tried || (one.making.joinable() && !one.made.load(std::memory_order_acquire))) return std::nullopt;
  if (!one.made.exchange(false)) return false;  // it has been seen before
  if (one.making.joinable()) one.making.join();
  const Status status = take(one, std::move(one.result));
  if (status.ok()) return true;
  one.why_not = status.what();
  say_unmatched(one, status);
  return false;
}

void CommRegistry::close(Handle comm, CommState& one, const Meanwhile& meanwhile) {
  for (const auto& persistent_calls : one.persistent_calls) close(comm, *persistent_calls, meanwhile);
  if (one.communicator == nullptr) return;
  (void)one.communicator->close();
  (void)all_come(comm, meanwhile);  // nobody takes the end of a rank for its death
  one.on_node = nullptr;
  one.communicator.reset();
}

void CommRegistry::forget(Handle comm, const Meanwhile& meanwhile) {
  {
    const std::unique_lock lock(mutex_);
    members_.erase(comm);
  }
  CommState* const one = find(comm);
  if (one == nullptr) return;
  close(comm, *one, meanwhile);
  // Peers may still look at this rank's last answer, and other nodes ask for it.
  if (one->vote != nullptr) (void)all_come(comm, meanwhile);
  if (one->nodes) node_vote_->leave(one->key);
  peer_query_->leave(one->key);
  for (const auto& persistent_calls : one->persistent_calls) peer_query_->leave(persistent_calls->key);
  const std::unique_lock lock(mutex_);
  for (const auto& persistent_calls : one->persistent_calls)
    if (persistent_calls->slot >= 0) free_slots_.push_back(persistent_calls->slot);
  if (one->slot >= 0) free_slots_.push_back(one->slot);
  all_.erase(comm);
  changed();
}

void CommRegistry::forget_freed(Handle comm) {
  const std::unique_lock lock(mutex_);
  members_.erase(comm);
  const auto found = all_.find(comm);
  if (found == all_.end() || found->second->why_not != kBeingFreed) return;
  peer_query_->leave(found->second->key);
  if (found->second->slot >= 0) free_slots_.push_back(found->second->slot);
  all_.erase(found);
  changed();
}

void CommRegistry::await_node() {
  for (const int rank : group_->node_ranks())
    for (Backoff backoff; group_->slots(rank).presence.at_end.load(std::memory_order_acquire) == 0; backoff.wait()) {
      if (group_->has_left(rank) || !group_->check({&rank, 1}).ok()) break;
      mpi_.progress();
    }
}

bool CommRegistry::forget_all() {
  group_->slots(group_->rank()).presence.at_end.store(1, std::memory_order_release);
  // Where all calls ended in requests and none was of GPU memory, nobody may have looked whether the ranks have met.
  for (auto& [handle, one] : all_) {
    for (Backoff backoff; !ready(handle, *one) && !group_->failed(); backoff.wait()) {
    }
    if (!one->ready) keep_for_ever(std::move(one->handshake));
  }
  std::vector<std::pair<std::uint64_t, Handle>> order;
  for (const auto& [handle, one] : all_)
    if (one->communicator != nullptr || !one->persistent_calls.empty()) order.emplace_back(one->key, handle);
  // In the same order on every rank, since each waits for the others of its communicator.
  std::ranges::sort(order);
  for (const auto& [key, handle] : order) close(handle, *all_[handle], [] {});
  const bool came = all_come(mpi_.comm_world(), [] {});
  if (!came) await_node();
  if (came && beside_ != kNoHandle) (void)mpi_.free(beside_);
  peer_query_->leave_all();
  node_vote_->leave_all();
  all_.clear();
  changed();
  return came;
}

}  // namespace sennit::shim::mpi
