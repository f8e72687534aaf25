// How communicators begin and end.
#include <atomic>
#include <chrono>
#include <new>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/log.h"
#include "base/thread.h"
#include "comm/job_place.h"
#include "comm/secret.h"
#include "machine/known.h"
#include "plan/table.h"
#include "shim/nccl/drop_in.h"

namespace sennit::shim::nccl {

namespace {

/// How long a communicator's end waits for the other ranks: a default. Those that come later are not waited for, and
/// its memory is kept meanwhile.
constexpr auto kLastWait = std::chrono::milliseconds(100);
/// How long a part that does not block may take to be there: a limit, since the program may give up the place where
/// NCCL would leave it.
constexpr auto kLastPart = std::chrono::minutes(1);
/// Short enough for a string that has none either.
constexpr const char* kNoMemory = "NCCL: no memory";

/// Only `present` of the ranks can be met. Where they should all have been there, one of them warns of it, once: a
/// job has many communicators of the same ranks, and the rest is for who asks.
void tell_who_is_missing(const Shape& shape, const Meeting& meeting, std::span<const int> present) {
  static std::atomic<bool> said_own{false}, said_all{false};
  const auto level = [](std::atomic<bool>& said) { return said.exchange(true) ? LogLevel::info : LogLevel::warning; };
  const auto place = comm::place_from_environment();
  const bool one_host = place.ok() && place->size > 1 && place->local_size == place->size;
  // What kept a rank from it, no other can know.
  if (const Status& own = meeting.announced(); one_host && !own)
    log(level(said_own),
        fmt::format("rank {} cannot announce itself, so a communicator of {} ranks is left to NCCL: {}", shape.rank,
                    shape.size, own.text()));
  else if (one_host && !present.empty() && present.front() == meeting.index())
    log(level(said_all),
        fmt::format(
            "not all {} ranks of a communicator run with this build of sennit, or can say so: it is left to NCCL",
            shape.size));
}

/// Whether calls may be sennit's, as far as this rank knows.
bool may_take(const Switches& switches) {
  return !switches.emulate && takes_any(switches) && (switches.take == Take::all || plan::has_table());
}

}  // namespace

Shape DropIn::shape_of(Comm comm) {
  Shape shape;
  (void)nccl_.comm_user_rank(comm, &shape.rank);
  (void)nccl_.comm_count(comm, &shape.size);
  (void)nccl_.comm_cu_device(comm, &shape.device);
  return shape;
}

int DropIn::make(std::string key, int index, int most, const Config& config, Comm* made,
                 const std::function<int()>& make) {
  // A node's first rank looks at its GPUs, for its table, and who that is of several nodes nobody knows yet. NCCL
  // takes longer to meet than that takes.
  if (index == 0 && most > 1 && may_take(switches_)) machine::look_ahead();
  Announced announced{std::make_shared<Meeting>(key, index, most)};
  return make_here({made, std::move(key), std::move(announced), config}, make);
}

int DropIn::make_here(Waiting waiting, const std::function<int()>& make) {
  const int code = from_nccl(make());
  if (open().depth > 0 && code == kSuccess)
    open().waiting.push_back(std::move(waiting));
  else
    begin_all({std::move(waiting)}, code);
  return code;
}

int DropIn::make_later(Comm parent, Waiting waiting, const std::function<int()>& make) {
  *waiting.made = nullptr;  // until NCCL has it
  const int code = from_nccl(make());
  if (code != kSuccess && code != kInProgress) return code;
  {
    const std::lock_guard lock(parts_mutex_);
    parts_.push_back({parent, std::chrono::steady_clock::now() + kLastPart, std::move(waiting)});
  }
  begin_parts();
  return code;
}

int DropIn::make_all(Comm* made, int count, const std::function<int()>& make) {
  const int code = from_nccl(make());
  const auto secret = comm::random_hex(32);
  if (code != kSuccess || !secret) return code;
  std::vector<Waiting> waiting;
  const std::string key = key_of(*secret);
  for (int i = 0; i < count; ++i)
    waiting.push_back({made + i, key, {std::make_shared<Meeting>(key, i, count)}, Config::read(nullptr)});
  begin_all(std::move(waiting), code);
  return code;
}

int DropIn::make_child(Comm parent, const std::string& makers, std::string_view how, std::optional<Config> config,
                       Comm* made, const std::function<int()>& make) {
  const auto state = settled(parent);
  if (state == nullptr || state->key.empty())
    return make_without(made, "NCCL: its parent is one that sennit does not know", make);
  const auto number = state->children->next(makers);
  std::string key = key_of(fmt::format("{} {} {} {}", state->key, makers, number, how));
  const Shape& shape = state->shape;
  Announced announced{std::make_shared<Meeting>(key, shape.rank, shape.size)};
  Waiting waiting{made, std::move(key), std::move(announced), config.value_or(state->config)};
  return state->config.blocking || made == nullptr ? make_here(std::move(waiting), make)
                                                   : make_later(parent, std::move(waiting), make);
}

int DropIn::grow(Comm parent, int size, const UniqueId* id, int rank, std::optional<Config> config, Comm* made,
                 const std::function<int()>& make) {
  const auto state = parent != nullptr ? settled(parent) : nullptr;
  if (parent != nullptr ? state == nullptr || state->key.empty() : id == nullptr)
    return make_without(made, "NCCL: it was grown of one that sennit does not know", make);
  std::shared_ptr<const Growth> growth;
  if (state != nullptr) {
    const auto number = state->children->next("grow");
    growth = std::make_shared<Growth>(Growth::of_old(key_of(fmt::format("{} {} grow", state->key, number)),
                                                     state->shape.rank, state->shape.size, id, size));
  } else {
    growth = std::make_shared<Growth>(Growth::of_new(*id, rank, size));
  }
  const Config of_parent = state != nullptr ? state->config : Config();
  Waiting waiting{made, {}, {nullptr, std::move(growth)}, config.value_or(of_parent)};
  const bool at_once = state != nullptr ? of_parent.blocking : waiting.config.blocking;
  return at_once || made == nullptr ? make_here(std::move(waiting), make)
                                    : make_later(parent, std::move(waiting), make);
}

void DropIn::begin_parts(Comm ended, bool in_order) {
  const std::lock_guard lock(parts_mutex_);
  const auto now = std::chrono::steady_clock::now();
  std::vector<Waiting> made;
  std::erase_if(parts_, [&](Part& part) {
    const bool of_ended = ended != nullptr && part.parent == ended;
    if (of_ended && !in_order) return true;  // the program may have freed the place by now
    const bool is_made = std::atomic_ref(*part.waiting.made).load(std::memory_order_acquire) != nullptr;
    if (is_made) made.push_back(std::move(part.waiting));
    return is_made || of_ended || part.until < now;
  });
  // Where the other ranks are, nobody knows: a thread waits for them.
  if (!made.empty()) begin_all(std::move(made), kInProgress);
}

int DropIn::make_without(Comm* made, std::string why, const std::function<int()>& make) {
  const int code = from_nccl(make());
  if ((code != kSuccess && code != kInProgress) || made == nullptr || *made == nullptr) return code;
  auto state = std::make_shared<CommState>();
  state->reason = std::move(why);
  state->finish_making();
  comms_.add(*made, std::move(state));
  return code;
}

void DropIn::begin_all(std::vector<Waiting> waiting, int code) {
  if (code != kSuccess && code != kInProgress) return;
  // That may wait for what runs on a GPU, so not where the program does not want to wait.
  if (code == kSuccess && !waiting.empty()) comms_.release_idle();
  std::vector<std::shared_ptr<CommState>> begun;
  for (Waiting& each : waiting) {
    const Comm comm = each.made != nullptr ? *each.made : nullptr;
    if (comm == nullptr) continue;
    auto state = std::make_shared<CommState>();
    state->key = std::move(each.key);
    state->config = each.config;
    state->reason = "NCCL: it was not made";
    begun.push_back(state);
    // Whoever finds it waits until it is settled: from now on, whatever happens, it will be.
    comms_.add(comm, state);
    if (code == kSuccess && waiting.size() == 1) {
      state->shape = shape_of(comm);
      settle(*state, each.announced, false);
      continue;
    }
    make_aside(*state, comm, std::move(each.announced));
  }
  // Several at once: each with other ranks, in any order.
  if (code == kSuccess)
    for (const auto& state : begun) state->join();
}

void DropIn::make_aside(CommState& state, Comm comm, Announced announced) {
  try {
    auto started = start_thread([this, comm, &state, announced = std::move(announced)] {
      const int said = wait_for_nccl(&state, comm);
      bool is_there = false;
      if (const CommGuard guard(&state); guard && said == kSuccess) {
        state.shape = shape_of(comm);
        is_there = true;
      }
      if (is_there) return settle(state, announced, true);
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

Status DropIn::meet(CommState& state, const Announced& announced, bool own_thread) {
  auto made = make_counterpart(state, announced, own_thread);
  if (!made && state.shape.rank == 0)
    log(LogLevel::warning,
        fmt::format("a communicator of {} ranks is left to NCCL: {}", state.shape.size, made.status().text()));
  if (!made) return made.status();
  state.counterpart = std::move(made->counterpart);
  // Users have to expect that there is none, and are warned of nothing.
  return state.counterpart != nullptr ? Status() : Status(Code::unsupported, std::move(made->why_none));
}

Result<Counterpart::Made> DropIn::make_counterpart(CommState& state, const Announced& announced, bool own_thread) {
  using Made = Counterpart::Made;
  const Shape& shape = state.shape;
  if (shape.size == 1) return Made{nullptr, "a rank alone"};
  if (shape.size > coll::kMostRanks) return Made{nullptr, fmt::format("more than {} ranks", coll::kMostRanks)};
  const auto create = [&](Result<std::unique_ptr<comm::Exchange>> met) -> Result<Made> {
    if (!met) return met.status();
    return Counterpart::create(*std::move(met), shape, state.config, *memories_, switches_, own_thread);
  };
  if (announced.growth != nullptr) {
    auto met = announced.growth->meet(shape.rank, shape.size);
    if (!met) return met.status();
    state.key = std::move(met->key);
    return create(std::move(met->exchange));
  }
  const Meeting& meeting = *announced.meeting;
  const std::vector<int> present = meeting.present();
  if (present.size() == static_cast<std::size_t>(shape.size)) return create(meeting.meet(shape.rank, shape.size));
  tell_who_is_missing(shape, meeting, present);
  return Made{nullptr, "its ranks are not all on this machine, with this sennit"};
}

void DropIn::settle(CommState& state, const Announced& announced, bool own_thread) {
  {
    const std::lock_guard lock(largest_mutex_);
    if (std::pair(-state.shape.size, state.shape.rank) < std::pair(-largest_.size, largest_.rank))
      largest_ = state.shape;
  }
  try {
    if (const auto status = meet(state, announced, own_thread); !status) {
      if (announced.growth != nullptr)
        state.announced = announced.growth;
      else
        state.announced = announced.meeting;
      state.reason = fmt::format("NCCL: {}", status.what());
    }
  } catch (const std::bad_alloc&) {
    state.reason = kNoMemory;
  }
  // Who ended it meanwhile did not wait: see end_at_once().
  if (!state.finish_making() && state.counterpart != nullptr) state.counterpart->abort();
}

int DropIn::finalize(Comm comm) {
  const auto state = comms_.find(comm);
  Status flushed;
  if (state != nullptr) {
    if (!state->config.blocking) state->advance(Event::finalize);
    if (state->config.blocking && is_made(state->phase()) && state->counterpart != nullptr)
      flushed = state->counterpart->flush();
    state->teardowns.wait_until_empty();
    if (is_freed(state->phase())) return aborted_meanwhile();
  }
  const int code = nccl_.comm_finalize(comm);
  return code == kSuccess && state != nullptr && is_under_way(*state) ? kInProgress : ended(code, flushed);
}

bool DropIn::is_under_way(CommState& state) {
  return state.phase() == Phase::finalizing && !state.counterpart->is_idle();
}

void DropIn::part_in_order(std::shared_ptr<CommState> state, bool is_done) {
  if (state->counterpart == nullptr) return;
  Counterpart& counterpart = *state->counterpart;
  // What waits in vain would keep the memory, and the process.
  if (is_done)
    counterpart.end_in_order();
  else
    counterpart.abort();
  const auto until = std::chrono::steady_clock::now() + kLastWait;
  bool goes = counterpart.may_go();
  // While there are graphs with its calls it is kept anyway.
  const auto waits = [&] { return !goes && !counterpart.has_siblings() && !counterpart.has_graphs(); };
  while (waits() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(kLook);
    goes = counterpart.may_go();
  }
  if (!goes) comms_.retire(std::move(state));
  comms_.release_idle();
}

bool DropIn::end_at_once(Comm comm, Event event) {
  begin_parts(comm, false);
  auto state = comms_.find(comm);
  if (state == nullptr) return false;
  const auto before = comms_.end(comm, *state, event);
  if (!before) return is_made(state->phase());
  state->nccl_queries.wait_until_empty();
  // An abort of NCCL's waits for no rank. Who still makes the counterpart asks nothing of NCCL any more, and ends it
  // then.
  if (is_made(*before)) {
    state->join();
    if (state->counterpart == nullptr) return true;
    state->counterpart->abort();
  }
  // To free memory may wait for all that runs on a GPU, and another communicator's kernel may wait there until the
  // program aborts that one, too, perhaps next: nothing is freed in an abort.
  comms_.retire(std::move(state));
  return is_made(*before);
}

int DropIn::ended(int code, const Status& status) {
  if (status.ok() || (code != kSuccess && code != kInProgress)) return from_nccl(code);
  say(fmt::format("sennit: what the communicator did has not ended well: {}", status.text()));
  return result_of(status);
}

int DropIn::aborted_meanwhile() {
  return ended(kSuccess, Status(Code::aborted, "another thread ended the communicator", "ncclCommAbort"));
}

int DropIn::destroy(Comm comm) {
  begin_parts(comm, true);
  auto state = comms_.find(comm);
  if (state == nullptr) return from_nccl(nccl_.comm_destroy(comm));
  state->join();
  // Until that is over others find it: an abort or a revoke ends the wait.
  const Status flushed = state->counterpart != nullptr ? state->counterpart->flush() : Status();
  state->teardowns.wait_until_empty();
  if (comms_.take(comm, *state))
    part_in_order(std::move(state), flushed.ok());
  else if (is_freed(state->phase()))
    return aborted_meanwhile();
  else if (const auto revoked = comms_.find(comm))
    comms_.take(comm, *revoked);
  return ended(nccl_.comm_destroy(comm), flushed);
}

int DropIn::abort(Comm comm) {
  end_at_once(comm, Event::abort);
  return from_nccl(nccl_.comm_abort(comm));
}

void DropIn::leave_to_nccl(Comm comm, std::string why) {
  const auto before = comms_.find(comm);
  if (before == nullptr) return;
  const bool was_made = end_at_once(comm, Event::revoke);
  auto after = std::make_shared<CommState>();
  // Of one that was still being made nothing is known, and parts of it are NCCL's.
  if (was_made) {
    after->shape = before->shape;
    after->key = before->key;
  }
  after->children = before->children;
  after->config = before->config;
  after->reason = std::move(why);
  after->finish_making();
  comms_.add(comm, std::move(after));
}

int DropIn::revoke(Comm comm, int flags) {
  const TeardownGuard ending(comms_.find(comm));
  leave_to_nccl(comm, "NCCL: it was revoked");
  return from_nccl(nccl_.comm_revoke(comm, flags));
}

int DropIn::shrink(Comm comm, const std::set<int>& excluded, int flags, std::optional<Config> config, Comm* made,
                   const std::function<int()>& make) {
  constexpr int kShrinkAbort = 1;  // NCCL_SHRINK_ABORT
  const bool ends = (flags & kShrinkAbort) != 0;
  const TeardownGuard ending(ends ? comms_.find(comm) : nullptr);
  if (ends) leave_to_nccl(comm, "NCCL: what it did was ended to shrink it");
  return make_child(comm, fmt::format("shrink without {}", fmt::join(excluded, ",")), {}, config, made, make);
}

}  // namespace sennit::shim::nccl
