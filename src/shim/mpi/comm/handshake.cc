#include "shim/mpi/comm/handshake.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/backoff.h"
#include "coll/team.h"
#include "shim/mpi/comm/comm_registry.h"

namespace sennit::shim::mpi {

namespace {

constexpr char kNotAsked[] = "its ranks could not be asked where they are";

}  // namespace

CommState::CommState() = default;
CommState::~CommState() {
  if (making.joinable()) making.join();
}

/// Keeps an exchange that was begun on a revoked communicator, or with a lost rank: it never ends, and MPI may write
/// there as long as the process lives.
void CommRegistry::keep_for_ever(std::shared_ptr<void> pending) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<std::shared_ptr<void>>();
  const std::lock_guard lock(mutex);
  kept->push_back(std::move(pending));
}

std::string CommRegistry::look_at(std::span<const CommInfo> infos, CommState& one) const {
  if (std::ranges::any_of(infos, [](const CommInfo& info) { return info.lost; })) return "a rank was lost";
  std::vector<int> leaders;
  for (const int rank : one.ranks) leaders.push_back(group_->leader_of(rank));
  Nodes nodes = nodes_of(one.ranks, leaders, one.shape.rank);
  std::vector<int> sizes(static_cast<std::size_t>(nodes.count));
  for (const net::Place& place : nodes.places) ++sizes[static_cast<std::size_t>(place.node)];
  if (std::ranges::max(sizes) > coll::kMostRanks) return fmt::format("more than {} ranks", coll::kMostRanks);
  if (nodes.count == 1) return {};
  if (!std::ranges::all_of(infos, [&](const CommInfo& info) { return info.between == between_; }))
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
    mine.slot = slots_.take();
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
  // Ranks of another job may run without sennit, and could then not be asked: each rank sees some of another job.
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
  std::vector<CommInfo> infos;
  if (handshake.code == 0) infos = std::move(handshake.all);
  one.handshake.reset();
  if (infos.empty()) one.why_not = kNotAsked;
  finish_handshake(one, std::move(infos));
  return true;
}

void CommRegistry::finish_handshake(CommState& one, std::vector<CommInfo> infos) {
  if (!infos.empty()) one.why_not = look_at(infos, one);
  if (!std::ranges::all_of(infos, [](const CommInfo& info) { return info.slot >= 0; })) {
    one.why_not = "too many communicators";
    infos.clear();
  }
  std::vector<comm::Slot*> slots;
  for (std::size_t i = 0; i < infos.size(); ++i)
    if (const int rank = one.ranks[i]; group_->same_node(rank)) slots.push_back(&slot_of(rank, infos[i].slot));
  if (!slots.empty()) {
    const bool others_elsewhere = slots.size() < infos.size();
    one.vote->attach_slots(std::move(slots));
    one.whole = one.why_not.empty();
    one.key = infos.front().key;
    if (others_elsewhere) peer_query_->join(one.key, *one.vote);
    if (one.whole && one.nodes && one.leads()) {
      std::vector<int> others = one.nodes->speakers;
      std::erase(others, group_->rank());
      node_vote_->join(one.key, *one.vote, std::move(others));
    }
  } else {
    one.vote.reset();
    const std::unique_lock lock(mutex_);
    slots_.give_back(one.slot);
    one.slot = -1;
  }
  one.ready = true;
}

}  // namespace sennit::shim::mpi
