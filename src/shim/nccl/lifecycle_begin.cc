#include <atomic>
#include <chrono>
#include <new>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/log.h"
#include "base/thread.h"
#include "comm/job_place.h"
#include "comm/secret.h"
#include "machine/known.h"
#include "plan/table.h"
#include "shim/nccl/lifecycle.h"

namespace sennit::shim::nccl {

namespace {

/// A limit: how long a child that does not block may take to be there. The program may give up the place where NCCL
/// would leave it.
constexpr auto kLastChild = std::chrono::minutes(1);
/// Short enough for a string that has no memory either.
constexpr const char* kNoMemory = "NCCL: no memory";

/// Warns, once, where only `present` of the ranks can be met and all should be: a job has many communicators of the
/// same ranks, and the rest is for who asks.
void tell_who_is_missing(const CommPlace& place, const LocalRendezvous& rendezvous, std::span<const int> present) {
  static std::atomic<bool> said_own{false}, said_all{false};
  const auto level = [](std::atomic<bool>& said) { return said.exchange(true) ? LogLevel::info : LogLevel::warning; };
  const auto job = comm::place_from_environment();
  const bool one_host = job.ok() && job->size > 1 && job->local_size == job->size;
  // What kept a rank from it, no other can know.
  if (const Status& own = rendezvous.published(); one_host && !own)
    log(level(said_own),
        fmt::format("rank {} cannot announce itself, so a communicator of {} ranks is left to NCCL: {}", place.rank,
                    place.size, own.text()));
  else if (one_host && !present.empty() && present.front() == rendezvous.index())
    log(level(said_all),
        fmt::format(
            "not all {} ranks of a communicator run with this build of sennit, or can say so: it is left to NCCL",
            place.size));
}

/// Returns true if calls may be sennit's, as far as this rank knows.
bool may_take(const Switches& switches) {
  return !switches.emulate && takes_any(switches) && (switches.take == Take::all || plan::has_table());
}

/// Reads a child's configuration; empty: its parent's, where the program gives it no other.
std::optional<Config> config_of_child(const void* config) {
  return config != nullptr ? std::optional(Config::read(config)) : std::nullopt;
}

std::string key_of_ids(const UniqueId* ids, int count) {
  return key_of({reinterpret_cast<const char*>(ids), sizeof *ids * static_cast<unsigned>(count < 0 ? 0 : count)});
}

template <class Kind, class... Arguments>
std::shared_ptr<const Rendezvous> rendezvous_of(Arguments&&... arguments) {
  return std::make_shared<const Rendezvous>(std::in_place_type<Kind>, std::forward<Arguments>(arguments)...);
}

}  // namespace

// ---- NCCL's functions ---------------------------------------------------------------------------------------------

int Lifecycle::comm_init_rank(Comm* comm, int nranks, UniqueId id, int rank) {
  return init(key_of_ids(&id, 1), rank, nranks, Config::read(nullptr), comm,
              [&] { return process_.nccl.comm_init_rank(comm, nranks, id, rank); });
}

int Lifecycle::comm_init_rank_config(Comm* comm, int nranks, UniqueId id, int rank, void* config) {
  return init(key_of_ids(&id, 1), rank, nranks, Config::read(config), comm,
              [&] { return process_.nccl.comm_init_rank_config(comm, nranks, id, rank, config); });
}

int Lifecycle::comm_init_rank_scalable(Comm* newcomm, int nranks, int myrank, int id_count, UniqueId* ids,
                                       void* config) {
  return init(key_of_ids(ids, ids != nullptr ? id_count : 0), myrank, nranks, Config::read(config), newcomm,
              [&] { return process_.nccl.comm_init_rank_scalable(newcomm, nranks, myrank, id_count, ids, config); });
}

int Lifecycle::comm_init_all(Comm* comm, int ndev, const int* devlist) {
  const int code = process_.last_error.from_nccl(process_.nccl.comm_init_all(comm, ndev, devlist));
  const auto secret = comm::random_hex(32);
  if (code != kSuccess || !secret) return code;
  std::vector<PendingComm> comms;
  const std::string key = key_of(*secret);
  for (int i = 0; i < ndev; ++i)
    comms.push_back({comm + i, key, rendezvous_of<LocalRendezvous>(key, i, ndev), Config::read(nullptr)});
  begin(std::move(comms), code);
  return code;
}

int Lifecycle::comm_split(Comm comm, int color, int key, Comm* newcomm, void* config) {
  Comm* const made = color < 0 ? nullptr : newcomm;  // who has no colour gets no communicator
  return make_child(comm, "split", fmt::format("{}", color), config_of_child(config), made,
                    [&] { return process_.nccl.comm_split(comm, color, key, newcomm, config); });
}

int Lifecycle::comm_shrink(Comm comm, int* excluded, int excluded_count, Comm* newcomm, void* config, int flags) {
  constexpr int kShrinkAbort = 1;  // NCCL_SHRINK_ABORT
  const bool ends = (flags & kShrinkAbort) != 0;
  const TeardownGuard teardown(ends ? process_.comms.find(comm) : nullptr);
  if (ends) leave_to_nccl(comm, "NCCL: what it did was ended to shrink it");
  std::set<int> without;
  if (excluded != nullptr && excluded_count > 0) without.insert(excluded, excluded + excluded_count);
  return make_child(
      comm, fmt::format("shrink without {}", fmt::join(without, ",")), {}, config_of_child(config), newcomm,
      [&] { return process_.nccl.comm_shrink(comm, excluded, excluded_count, newcomm, config, flags); });
}

int Lifecycle::comm_grow(Comm comm, int nranks, const UniqueId* id, int rank, Comm* newcomm, void* config) {
  const Make make = [&] { return process_.nccl.comm_grow(comm, nranks, id, rank, newcomm, config); };
  const auto parent = comm != nullptr ? find_made(comm) : nullptr;
  if (comm != nullptr ? parent == nullptr || parent->key.empty() : id == nullptr)
    return make_without(newcomm, "NCCL: it was grown of one that sennit does not know", make);
  PendingComm grown{newcomm, {}, nullptr, Config()};
  if (parent != nullptr) {
    const CommPlace& place = parent->place;
    std::string shared = key_of(fmt::format("{} {} grow", parent->key, parent->children->next("grow")));
    grown.rendezvous =
        rendezvous_of<GrowRendezvous>(GrowRendezvous::of_old(std::move(shared), place.rank, place.size, id, nranks));
    grown.config = config_of_child(config).value_or(parent->config);
  } else {
    grown.rendezvous = rendezvous_of<GrowRendezvous>(GrowRendezvous::of_new(*id, rank, nranks));
    grown.config = Config::read(config);
  }
  const bool blocks = parent != nullptr ? parent->config.blocking : grown.config.blocking;
  return blocks || newcomm == nullptr ? make_now(std::move(grown), make) : make_later(comm, std::move(grown), make);
}

// ---- how they are made --------------------------------------------------------------------------------------------

int Lifecycle::init(std::string key, int index, int most, const Config& config, Comm* made, const Make& make) {
  // Rank 0 looks at this machine's GPUs, for its table. NCCL takes longer to meet than that takes.
  if (index == 0 && most > 1 && may_take(process_.switches)) machine::prefetch_machine();
  auto rendezvous = rendezvous_of<LocalRendezvous>(key, index, most);
  return make_now({made, std::move(key), std::move(rendezvous), config}, make);
}

int Lifecycle::make_child(Comm parent, const std::string& makers, std::string_view how, std::optional<Config> config,
                          Comm* made, const Make& make) {
  const auto state = find_made(parent);
  if (state == nullptr || state->key.empty())
    return make_without(made, "NCCL: its parent is one that sennit does not know", make);
  std::string key = key_of(fmt::format("{} {} {} {}", state->key, makers, state->children->next(makers), how));
  auto rendezvous = rendezvous_of<LocalRendezvous>(key, state->place.rank, state->place.size);
  PendingComm child{made, std::move(key), std::move(rendezvous), config.value_or(state->config)};
  return state->config.blocking || made == nullptr ? make_now(std::move(child), make)
                                                   : make_later(parent, std::move(child), make);
}

int Lifecycle::make_now(PendingComm comm, const Make& make) {
  const int code = process_.last_error.from_nccl(make());
  std::vector<PendingComm> comms;
  comms.push_back(std::move(comm));
  if (OpenGroup& group = OpenGroup::mine(); group.depth > 0 && code == kSuccess)
    group.comms.push_back(std::move(comms.front()));
  else
    begin(std::move(comms), code);
  return code;
}

int Lifecycle::make_later(Comm parent, PendingComm comm, const Make& make) {
  *comm.made = nullptr;  // until NCCL has it
  const int code = process_.last_error.from_nccl(make());
  if (code != kSuccess && code != kInProgress) return code;
  comm.parent = parent;
  comm.until = std::chrono::steady_clock::now() + kLastChild;
  {
    const std::lock_guard lock(children_mutex_);
    children_.push_back(std::move(comm));
  }
  begin_children();
  return code;
}

int Lifecycle::make_without(Comm* made, std::string reason, const Make& make) {
  const int code = process_.last_error.from_nccl(make());
  if ((code != kSuccess && code != kInProgress) || made == nullptr || *made == nullptr) return code;
  auto state = std::make_shared<CommState>();
  state->reason = std::move(reason);
  state->finish_making();
  process_.comms.add(*made, std::move(state));
  return code;
}

void Lifecycle::begin_children(Comm ended, bool in_order) {
  const std::lock_guard lock(children_mutex_);
  const auto now = std::chrono::steady_clock::now();
  std::vector<PendingComm> made;
  std::erase_if(children_, [&](PendingComm& child) {
    const bool of_ended = ended != nullptr && child.parent == ended;
    if (of_ended && !in_order) return true;  // the program may have freed the place by now
    const bool is_there = std::atomic_ref(*child.made).load(std::memory_order_acquire) != nullptr;
    const bool is_late = child.until < now;
    if (is_there) made.push_back(std::move(child));
    return is_there || of_ended || is_late;
  });
  // Where the other ranks are is not known: a thread waits for them.
  if (!made.empty()) begin(std::move(made), kInProgress);
}

void Lifecycle::begin(std::vector<PendingComm> comms, int code) {
  if (code != kSuccess && code != kInProgress) return;
  // That may wait for what runs on a GPU, so not where the program does not want to wait.
  if (code == kSuccess && !comms.empty()) process_.comms.release_idle();
  std::vector<std::shared_ptr<CommState>> begun;
  for (PendingComm& each : comms) {
    const Comm comm = each.made != nullptr ? *each.made : nullptr;
    if (comm == nullptr) continue;
    auto state = std::make_shared<CommState>();
    state->key = std::move(each.key);
    state->config = each.config;
    state->reason = "NCCL: it was not made";
    begun.push_back(state);
    // Whoever finds it waits until it is made: from now on, whatever happens, it will be.
    process_.comms.add(comm, state);
    if (code == kSuccess && comms.size() == 1) {
      state->place = place_of(comm);
      finish(*state, each.rendezvous, false);
    } else {
      make_on_thread(*state, comm, std::move(each.rendezvous));
    }
  }
  // Several at once: each with other ranks, in any order.
  if (code == kSuccess)
    for (const auto& state : begun) state->join();
}

void Lifecycle::make_on_thread(CommState& state, Comm comm, std::shared_ptr<const Rendezvous> rendezvous) {
  try {
    auto started = start_thread([this, comm, &state, rendezvous = std::move(rendezvous)] {
      const int said = process_.wait_for_nccl(&state, comm);
      bool is_there = false;
      if (const CommGuard guard(&state); guard && said == kSuccess) {
        state.place = place_of(comm);
        is_there = true;
      }
      if (is_there) return finish(state, rendezvous, true);
      state.finish_making();
    });
    if (started) {
      state.made_by(std::move(*started));
      return;
    }
    state.reason = "NCCL: " + started.status().what();
  } catch (const std::bad_alloc&) {
    state.reason = kNoMemory;
  }
  state.finish_making();
}

void Lifecycle::finish(CommState& state, const std::shared_ptr<const Rendezvous>& rendezvous, bool own_thread) {
  process_.tally.note(state.place);
  try {
    auto made = connect(state, *rendezvous, own_thread);
    if (made.ok()) state.communicator = std::move(made->communicator);
    if (!made && state.place.rank == 0)
      log(LogLevel::warning,
          fmt::format("a communicator of {} ranks is left to NCCL: {}", state.place.size, made.status().text()));
    if (state.communicator == nullptr) {
      state.published = rendezvous;
      state.reason = "NCCL: " + (made.ok() ? made->reason : made.status().what());
    }
  } catch (const std::bad_alloc&) {
    state.reason = kNoMemory;
  }
  // Who ended it meanwhile did not wait: see end_at_once().
  if (!state.finish_making() && state.communicator != nullptr) state.communicator->abort();
}

Result<Communicator::Made> Lifecycle::connect(CommState& state, const Rendezvous& rendezvous, bool own_thread) {
  using Made = Communicator::Made;
  const CommPlace& place = state.place;
  if (place.size == 1) return Made{nullptr, "a rank alone"};
  if (place.size > coll::kMostRanks) return Made{nullptr, fmt::format("more than {} ranks", coll::kMostRanks)};
  const auto create = [&](std::unique_ptr<comm::Exchange> exchange) {
    return Communicator::create(std::move(exchange), place, state.config, *process_.memories, process_.switches,
                                own_thread);
  };
  if (const auto* const grown = std::get_if<GrowRendezvous>(&rendezvous)) {
    auto met = grown->meet(place.rank, place.size);
    if (!met) return met.status();
    state.key = std::move(met->key);
    return create(std::move(met->exchange));
  }
  const auto& local = std::get<LocalRendezvous>(rendezvous);
  const std::vector<int> present = local.present();
  if (present.size() != static_cast<std::size_t>(place.size)) {
    tell_who_is_missing(place, local, present);
    return Made{nullptr, "its ranks are not all on this machine, with this sennit"};
  }
  auto exchange = local.meet(place.rank, place.size);
  if (!exchange) return exchange.status();
  return create(std::move(*exchange));
}

CommPlace Lifecycle::place_of(Comm comm) const {
  CommPlace place;
  (void)process_.nccl.comm_user_rank(comm, &place.rank);
  (void)process_.nccl.comm_count(comm, &place.size);
  (void)process_.nccl.comm_cu_device(comm, &place.device);
  return place;
}

std::shared_ptr<CommState> Lifecycle::find_made(Comm comm) {
  auto state = process_.comms.find(comm);
  if (state == nullptr) {
    begin_children();
    state = process_.comms.find(comm);
  }
  while (state != nullptr && !is_made(state->phase())) {
    if (is_over(state->phase())) return nullptr;
    std::this_thread::sleep_for(kLook);
  }
  return state;
}

}  // namespace sennit::shim::nccl
