#include "shim/mpi/communicators.h"

#include <algorithm>
#include <random>

#include <fmt/format.h>

#include "base/log.h"
#include "base/thread.h"
#include "coll/team.h"
#include "path/bell.h"
#include "shim/mpi/messages.h"
#include "shim/mpi/patience.h"

namespace sennit::shim::mpi {

/// What a rank tells the others of a communicator.
struct Communicators::Card {
  std::uint64_t key = 0;
  int slot = -1;
  Between between = Between::rails;
  bool lost = false;  // a rank, or one by whom words go from node to node
};

/// What MPI works on until all ranks have given their cards.
struct Communicators::Gathering {
  Card mine;
  std::vector<Card> all;
  Handle request = 0;
  int code = 0;  // MPI's
};

Communicators::One::One() = default;
Communicators::One::~One() {
  if (making.joinable()) making.join();
}

/// What was begun on a revoked communicator, or with a lost rank, never ends, and MPI may write there as long as the
/// process lives.
void Communicators::keep_for_ever(std::shared_ptr<void> begun) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<std::shared_ptr<void>>();
  const std::lock_guard lock(mutex);
  kept->push_back(std::move(begun));
}

namespace {

constexpr char kBeingFreed[] = "communicator that is being freed";
constexpr char kNotAsked[] = "its ranks could not be asked where they are";

constexpr int kNeverDone = -1;  ///< no code of MPI's: that one the real function gives

/// Slots of a rank: behind path's (bell.h) boards count up, messages have the last ones (messages.h), and this one is
/// before those.
constexpr int kListeningSlot = Announcement::kFirstSlot - 1;
constexpr std::size_t kListens = 0, kAtEnd = 1;            ///< words of that one
constexpr int kMostBoards = Announcement::kFirstSlot - 2;  ///< before the one of window_calls.cc

}  // namespace

Communicators::Communicators(const Mpi& mpi, std::unique_ptr<comm::Group> group, Between between)
    : mpi_(mpi),
      group_(std::move(group)),
      between_(between),
      council_(std::make_unique<Council>(
          [group = group_.get()](int rank, comm::Bytes word) { group->tell(rank, std::move(word)); })),
      exchanges_(std::make_unique<WordExchanges>(
          [group = group_.get()](int rank, comm::Bytes word) { group->tell(rank, std::move(word)); },
          [group = group_.get()](std::span<const int> ranks) { return group->check(ranks); })),
      questions_(std::make_unique<Questions>(
          [group = group_.get()](int rank, comm::Bytes word) { group->tell(rank, std::move(word)); },
          [group = group_.get()](int rank) {
            return group->check({&rank, 1});
          })),
      participants_(mpi_, group_->rank()) {
  next_slot_ = path::kOfferSlot + static_cast<int>(group_->node_ranks().size());
  group_->on_word([this](int from, const comm::Bytes& word) {
    if (!exchanges_->hear(from, word) && !questions_->hear(from, word)) council_->hear(from, word);
  });
}

Communicators::~Communicators() {
  exchanges_->end();
  questions_->leave_all();
  council_->leave_all();
  all_.clear();
  group_->on_word(nullptr);
}

Result<std::unique_ptr<Communicators>> Communicators::create(const Mpi& mpi, Between between) {
  CommShape world;
  if (const int code = mpi.shape(mpi.comm_world(), world); code != 0)
    return Status(Code::system_error, fmt::format("MPI_Comm_rank returned error {}", code));
  auto group = comm::Group::create(exchange_over(mpi, mpi.comm_world(), world));
  if (!group) return group.status();
  std::unique_ptr<Communicators> made(new Communicators(mpi, std::move(*group), between));
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

Communicators::Members Communicators::ask_members(Handle comm) const {
  Members members;
  if (comm == mpi_.comm_null() || mpi_.world_ranks(comm, members.ranks) != 0) members.ranks.clear();
  // The other side's, where there are two groups: its ranks know this side's.
  if (std::ranges::find(members.ranks, group_->rank()) == members.ranks.end()) return members;
  members.name = name_of(members.ranks);
  return members;
}

Communicators::Peer Communicators::peer(Handle comm, int rank) {
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

void Communicators::name(Shared kind, Handle made, Handle comm) {
  const One* const one = find(comm);
  if (one != nullptr && one->met && one->board != nullptr)
    participants_.name(kind, made, one->key, one->board->latest());
}

Status Communicators::check(Handle comm) const {
  if (!group_->failed()) return {};
  if (const One* const one = find(comm)) return check(*one);
  std::vector<int> ranks;
  if (comm == mpi_.comm_world() || comm == mpi_.comm_null() || mpi_.all_world_ranks(comm, ranks) != 0)
    return group_->check();
  return group_->check(ranks);
}

Status Communicators::both_come(Handle comm, int leader, Handle between, int remote, int tag,
                                const Meanwhile& meanwhile) {
  const auto all = participants_.of(comm);
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

comm::Slot& Communicators::listening(int world_rank) {
  return slot_of(world_rank, kListeningSlot);
}

void Communicators::listen() {
  listening(group_->rank()).words[kListens].store(1, std::memory_order_release);
  questions_->listen();
}

bool Communicators::listens(int world_rank) {
  return listening(world_rank).words[kListens].load(std::memory_order_acquire) != 0;
}

bool Communicators::came_elsewhere(const One& one, std::span<const int> awaited) {
  const auto came = [&](int rank) { return questions_->came(rank, one.key, one.board->latest()); };
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

int Communicators::take_slot() {
  if (!free_slots_.empty()) {
    const int slot = free_slots_.back();
    free_slots_.pop_back();
    return slot;
  }
  return next_slot_ < kMostBoards ? next_slot_++ : -1;
}

void Communicators::changed() {
  static std::atomic<std::uint64_t> states{0};
  state_.store(++states, std::memory_order_release);
}

Communicators::One* Communicators::find(Handle comm) const {
  // Asked in every collective call, also of host buffers, and mostly for the same one.
  struct Latest {
    std::uint64_t state = 0;
    Handle comm = 0;
    One* one = nullptr;
  };
  thread_local Latest latest;
  const std::uint64_t state = state_.load(std::memory_order_acquire);
  if (state != 0 && latest.state == state && latest.comm == comm) return latest.one;
  const std::shared_lock lock(mutex_);
  const auto found = all_.find(comm);
  One* const one = found != all_.end() ? found->second.get() : nullptr;
  latest = {state, comm, one};
  return one;
}

int Communicators::finish(Handle comm, Handle request, const Meanwhile& meanwhile) const {
  bool done = false;
  for (Patience patience;; patience.wait()) {
    if (const int code = mpi_.done_quietly(comm, request, done); code != 0 || done) return code;
    if (!check(comm).ok() || mpi_.revoked(comm)) return kNeverDone;
    meanwhile();
  }
}

bool Communicators::all_come(Handle comm, const Meanwhile& meanwhile) const {
  Handle request = 0;
  return check(comm).ok() && mpi_.begin_barrier(comm, request) == 0 && finish(comm, request, meanwhile) == 0;
}

std::string Communicators::look_at(std::span<const Card> cards, One& one) const {
  if (std::ranges::any_of(cards, [](const Card& card) { return card.lost; })) return "a rank was lost";
  std::vector<int> leaders;
  for (const int rank : one.ranks) leaders.push_back(group_->leader_of(rank));
  Nodes nodes = nodes_of(one.ranks, leaders, one.shape.rank);
  std::vector<int> sizes(static_cast<std::size_t>(nodes.count));
  for (const net::Place& place : nodes.places) ++sizes[static_cast<std::size_t>(place.node)];
  if (std::ranges::max(sizes) > coll::kMostRanks) return fmt::format("more than {} ranks", coll::kMostRanks);
  if (nodes.count == 1) return {};
  if (!std::ranges::all_of(cards, [&](const Card& card) { return card.between == between_; }))
    return "SENNIT_BETWEEN is not the same on all ranks";
  if (between_ == Between::staged) return "ranks on several nodes";
  one.nodes = std::move(nodes);
  return {};
}

Communicators::One& Communicators::begin_to_meet(Handle comm) {
  auto one = make(comm);
  const std::unique_lock lock(mutex_);
  changed();
  return *(all_[comm] = std::move(one));
}

std::unique_ptr<Communicators::One> Communicators::make(Handle comm) {
  auto one = std::make_unique<One>();
  Card mine{0, -1, between_};
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
    one->board = std::make_unique<Board>(slot);
    one->gathering = std::make_unique<Gathering>();
    Gathering& gathering = *one->gathering;
    gathering.mine = mine;
    gathering.all.resize(static_cast<std::size_t>(one->shape.size));
    gathering.code =
        mpi_.begin_all_gather(comm, &gathering.mine, gathering.all.data(), sizeof mine, gathering.request);
  } else {
    sit_down(*one, {});
  }
  return one;
}

std::optional<std::vector<std::uint64_t>> Communicators::ask(Handle comm, const One& one, std::uint64_t mine,
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

std::shared_ptr<Communicators::One> Communicators::repeat(Handle comm, One& one,
                                                          Result<std::shared_ptr<device::Executor>> executor,
                                                          int device, const Meanwhile& meanwhile) {
  const std::shared_ptr<One> made = one.repeated.emplace_back(make(comm));
  for (Patience patience; !met(comm, *made); patience.wait()) meanwhile();
  if (!made->whole) return made;
  begin_to_match(*made, std::move(executor), device);
  for (Patience patience; !matched(*made); patience.wait()) meanwhile();
  return made;
}

bool Communicators::met(Handle comm, One& one) {
  if (one.met) return true;
  Gathering& gathering = *one.gathering;
  bool done = false;
  if (gathering.code == 0) gathering.code = mpi_.done_quietly(comm, gathering.request, done);
  if (gathering.code == 0 && !done) {
    const bool lost = !check(one).ok();
    if (!lost && !mpi_.revoked(comm)) return false;
    one.broken = lost;
    keep_for_ever(std::move(one.gathering));
    one.why_not = kNotAsked;
    sit_down(one, {});
    return true;
  }
  std::vector<Card> cards;
  if (gathering.code == 0) cards = std::move(gathering.all);
  one.gathering.reset();
  if (cards.empty()) one.why_not = kNotAsked;
  sit_down(one, std::move(cards));
  return true;
}

void Communicators::sit_down(One& one, std::vector<Card> cards) {
  if (!cards.empty()) one.why_not = look_at(cards, one);
  if (!std::ranges::all_of(cards, [](const Card& card) { return card.slot >= 0; })) {
    one.why_not = "too many communicators";
    cards.clear();
  }
  std::vector<comm::Slot*> seats;
  for (std::size_t i = 0; i < cards.size(); ++i)
    if (const int rank = one.ranks[i]; group_->same_node(rank)) seats.push_back(&slot_of(rank, cards[i].slot));
  if (!seats.empty()) {
    const bool seats_elsewhere = seats.size() < cards.size();
    one.board->seat(std::move(seats));
    one.whole = one.why_not.empty();
    one.key = cards.front().key;
    if (seats_elsewhere) questions_->join(one.key, *one.board);
    if (one.whole && one.nodes && one.speaks()) {
      std::vector<int> others = one.nodes->speakers;
      std::erase(others, group_->rank());
      council_->join(one.key, *one.board, std::move(others));
    }
  } else {
    one.board.reset();
    const std::unique_lock lock(mutex_);
    if (one.slot >= 0) free_slots_.push_back(one.slot);
    one.slot = -1;
  }
  one.met = true;
}

Status Communicators::take(One& one, Result<std::unique_ptr<OneNode>> made) {
  if (!made) return made.status();
  one.on_node = made->get();
  one.counterpart = std::move(*made);
  return {};
}

void Communicators::say_unmatched(const One& one, const Status& status) const {
  if (one.shape.rank == 0)
    log(LogLevel::warning, fmt::format("collectives of a communicator of {} ranks go through host memory: {}",
                                       one.shape.size, status.text()));
}

void Communicators::match(Handle comm, One& one, Result<std::shared_ptr<device::Executor>> executor, int device) {
  one.tried = true;
  Status status;
  if (one.nodes) {
    auto made = SeveralNodes::create(mpi_, comm, one.shape, *one.nodes, way(*one.nodes), std::move(executor), device);
    status = made.status();
    if (made) one.counterpart = std::move(*made);
  } else {
    status = take(one, OneNode::create(exchange_over(mpi_, comm, one.shape), std::move(executor), device));
  }
  if (status.ok()) return;
  one.why_not = status.what();
  say_unmatched(one, status);
}

void Communicators::begin_to_match(One& one, Result<std::shared_ptr<device::Executor>> executor, int device) {
  one.tried = true;
  auto exchange = exchanges_->open(one.key, one.ranks, one.shape.rank);
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

std::optional<bool> Communicators::matched(One& one) {
  if (one.counterpart != nullptr) return true;
  if (!one.tried || (one.making.joinable() && !one.made.load(std::memory_order_acquire))) return std::nullopt;
  if (!one.made.exchange(false)) return false;  // it has been seen before
  if (one.making.joinable()) one.making.join();
  const Status status = take(one, std::move(one.result));
  if (status.ok()) return true;
  one.why_not = status.what();
  say_unmatched(one, status);
  return false;
}

void Communicators::close(Handle comm, One& one, const Meanwhile& meanwhile) {
  for (const auto& repeated : one.repeated) close(comm, *repeated, meanwhile);
  if (one.counterpart == nullptr) return;
  (void)one.counterpart->close();
  (void)all_come(comm, meanwhile);  // nobody takes the end of a rank for its death
  one.on_node = nullptr;
  one.counterpart.reset();
}

void Communicators::forget(Handle comm, const Meanwhile& meanwhile) {
  {
    const std::unique_lock lock(mutex_);
    members_.erase(comm);
  }
  One* const one = find(comm);
  if (one == nullptr) return;
  close(comm, *one, meanwhile);
  // Peers may still look at this rank's last answer, and other nodes ask for it.
  if (one->board != nullptr) (void)all_come(comm, meanwhile);
  if (one->nodes) council_->leave(one->key);
  questions_->leave(one->key);
  for (const auto& repeated : one->repeated) questions_->leave(repeated->key);
  const std::unique_lock lock(mutex_);
  for (const auto& repeated : one->repeated)
    if (repeated->slot >= 0) free_slots_.push_back(repeated->slot);
  if (one->slot >= 0) free_slots_.push_back(one->slot);
  all_.erase(comm);
  changed();
}

void Communicators::forget_freed(Handle comm) {
  const std::unique_lock lock(mutex_);
  members_.erase(comm);
  const auto found = all_.find(comm);
  if (found == all_.end() || found->second->why_not != kBeingFreed) return;
  questions_->leave(found->second->key);
  if (found->second->slot >= 0) free_slots_.push_back(found->second->slot);
  all_.erase(found);
  changed();
}

void Communicators::await_node() {
  for (const int rank : group_->node_ranks())
    for (Patience patience; listening(rank).words[kAtEnd].load(std::memory_order_acquire) == 0; patience.wait()) {
      if (group_->has_left(rank) || !group_->check({&rank, 1}).ok()) break;
      mpi_.progress();
    }
}

bool Communicators::forget_all() {
  listening(group_->rank()).words[kAtEnd].store(1, std::memory_order_release);
  // Where all calls ended in requests and none was of GPU memory, nobody may have looked whether the ranks have met.
  for (auto& [handle, one] : all_) {
    for (Patience patience; !met(handle, *one) && !group_->failed(); patience.wait()) {
    }
    if (!one->met) keep_for_ever(std::move(one->gathering));
  }
  std::vector<std::pair<std::uint64_t, Handle>> order;
  for (const auto& [handle, one] : all_)
    if (one->counterpart != nullptr || !one->repeated.empty()) order.emplace_back(one->key, handle);
  // In the same order on every rank, since each waits for the others of its communicator.
  std::ranges::sort(order);
  for (const auto& [key, handle] : order) close(handle, *all_[handle], [] {});
  const bool came = all_come(mpi_.comm_world(), [] {});
  if (!came) await_node();
  if (came && beside_ != kNoHandle) (void)mpi_.free(beside_);
  questions_->leave_all();
  council_->leave_all();
  all_.clear();
  changed();
  return came;
}

}  // namespace sennit::shim::mpi
