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
  const auto known = settled(parent);
  if (known == nullptr || known->key.empty())
    return make_without(made, "NCCL: its parent is one that sennit does not know", make);
  const auto number = known->children->next(makers);
  std::string key = key_of(fmt::format("{} {} {} {}", known->key, makers, number, how));
  const Shape& shape = known->shape;
  Announced announced{std::make_shared<Meeting>(key, shape.rank, shape.size)};
  Waiting waiting{made, std::move(key), std::move(announced), config.value_or(known->config)};
  return known->config.blocking || made == nullptr ? make_here(std::move(waiting), make)
                                                   : make_later(parent, std::move(waiting), make);
}

int DropIn::grow(Comm parent, int size, const UniqueId* id, int rank, std::optional<Config> config, Comm* made,
                 const std::function<int()>& make) {
  const auto known = parent != nullptr ? settled(parent) : nullptr;
  if (parent != nullptr ? known == nullptr || known->key.empty() : id == nullptr)
    return make_without(made, "NCCL: it was grown of one that sennit does not know", make);
  std::shared_ptr<const Growth> growth;
  if (known != nullptr) {
    const auto number = known->children->next("grow");
    growth = std::make_shared<Growth>(Growth::of_old(key_of(fmt::format("{} {} grow", known->key, number)),
                                                     known->shape.rank, known->shape.size, id, size));
  } else {
    growth = std::make_shared<Growth>(Growth::of_new(*id, rank, size));
  }
  const Config of_parent = known != nullptr ? known->config : Config();
  Waiting waiting{made, {}, {nullptr, std::move(growth)}, config.value_or(of_parent)};
  const bool at_once = known != nullptr ? of_parent.blocking : waiting.config.blocking;
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
  auto known = std::make_shared<Known>();
  known->why_not = std::move(why);
  known->settled = true;
  known_.add(*made, std::move(known));
  return code;
}

void DropIn::begin_all(std::vector<Waiting> waiting, int code) {
  if (code != kSuccess && code != kInProgress) return;
  // That may wait for what runs on a GPU, so not where the program does not want to wait.
  if (code == kSuccess && !waiting.empty()) known_.let_go();
  std::vector<std::shared_ptr<Known>> begun;
  for (Waiting& each : waiting) {
    const Comm comm = each.made != nullptr ? *each.made : nullptr;
    if (comm == nullptr) continue;
    auto known = std::make_shared<Known>();
    known->key = std::move(each.key);
    known->config = each.config;
    known->why_not = "NCCL: it was not made";
    begun.push_back(known);
    // Whoever finds it waits until it is settled: from now on, whatever happens, it will be.
    known_.add(comm, known);
    if (code == kSuccess && waiting.size() == 1) {
      known->shape = shape_of(comm);
      settle(*known, each.announced, false);
      continue;
    }
    make_aside(*known, comm, std::move(each.announced));
  }
  // Several at once: each with other ranks, in any order.
  if (code == kSuccess)
    for (const auto& known : begun) known->join();
}

void DropIn::make_aside(Known& known, Comm comm, Announced announced) {
  try {
    auto started = start_thread([this, comm, &known, announced = std::move(announced)] {
      const int state = wait_for_nccl(&known, comm);
      bool is_there = false;
      if (const Hold hold(&known); hold && state == kSuccess) {
        known.shape = shape_of(comm);
        is_there = true;
      }
      if (is_there) return settle(known, announced, true);
      known.settled.store(true, std::memory_order_release);
    });
    if (started) {
      known.make_by(std::move(*started));
      return;
    }
    known.why_not = "NCCL: " + started.status().what();
  } catch (const std::bad_alloc&) {
    known.why_not = kNoMemory;
  }
  known.settled.store(true, std::memory_order_release);
}

Status DropIn::meet(Known& known, const Announced& announced, bool own_thread) {
  auto made = make_counterpart(known, announced, own_thread);
  if (!made && known.shape.rank == 0)
    log(LogLevel::warning,
        fmt::format("a communicator of {} ranks is left to NCCL: {}", known.shape.size, made.status().text()));
  if (!made) return made.status();
  known.counterpart = std::move(made->counterpart);
  // Users have to expect that there is none, and are warned of nothing.
  return known.counterpart != nullptr ? Status() : Status(Code::unsupported, std::move(made->why_none));
}

Result<Counterpart::Made> DropIn::make_counterpart(Known& known, const Announced& announced, bool own_thread) {
  using Made = Counterpart::Made;
  const Shape& shape = known.shape;
  if (shape.size == 1) return Made{nullptr, "a rank alone"};
  if (shape.size > coll::kMostRanks) return Made{nullptr, fmt::format("more than {} ranks", coll::kMostRanks)};
  const auto create = [&](Result<std::unique_ptr<comm::Exchange>> met) -> Result<Made> {
    if (!met) return met.status();
    return Counterpart::create(*std::move(met), shape, known.config, *memories_, switches_, own_thread);
  };
  if (announced.growth != nullptr) {
    auto met = announced.growth->meet(shape.rank, shape.size);
    if (!met) return met.status();
    known.key = std::move(met->key);
    return create(std::move(met->exchange));
  }
  const Meeting& meeting = *announced.meeting;
  const std::vector<int> present = meeting.present();
  if (present.size() == static_cast<std::size_t>(shape.size)) return create(meeting.meet(shape.rank, shape.size));
  tell_who_is_missing(shape, meeting, present);
  return Made{nullptr, "its ranks are not all on this machine, with this sennit"};
}

void DropIn::settle(Known& known, const Announced& announced, bool own_thread) {
  {
    const std::lock_guard lock(largest_mutex_);
    if (std::pair(-known.shape.size, known.shape.rank) < std::pair(-largest_.size, largest_.rank))
      largest_ = known.shape;
  }
  try {
    if (const auto status = meet(known, announced, own_thread); !status) {
      if (announced.growth != nullptr)
        known.announced = announced.growth;
      else
        known.announced = announced.meeting;
      known.why_not = fmt::format("NCCL: {}", status.what());
    }
  } catch (const std::bad_alloc&) {
    known.why_not = kNoMemory;
  }
  known.settled = true;
  // Nobody waited for it: see end_at_once().
  if (known.given_up && known.counterpart != nullptr) known.counterpart->abort();
}

int DropIn::finalize(Comm comm) {
  const auto known = known_.find(comm);
  Status flushed;
  if (known != nullptr) {
    known->finalizing = !known->config.blocking;
    if (known->config.blocking && known->settled && known->counterpart != nullptr)
      flushed = known->counterpart->flush();
    known->wait_for_endings();
    if (known->freed) return aborted_meanwhile();
  }
  const int code = nccl_.comm_finalize(comm);
  return code == kSuccess && known != nullptr && is_under_way(*known) ? kInProgress : ended(code, flushed);
}

bool DropIn::is_under_way(Known& known) {
  return known.finalizing && known.settled && known.counterpart != nullptr && !known.counterpart->is_idle();
}

void DropIn::part_in_order(std::shared_ptr<Known> known, bool is_done) {
  if (known->counterpart == nullptr) return;
  Counterpart& counterpart = *known->counterpart;
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
  if (!goes) known_.retire(std::move(known));
  known_.let_go();
}

void DropIn::end_at_once(Comm comm, bool frees) {
  begin_parts(comm, false);
  auto known = known_.find(comm);
  if (known == nullptr || !known_.take(comm, *known)) return;
  known->freed = frees;
  Hold::end(*known);
  // An abort of NCCL's waits for no rank. Who still makes the counterpart asks nothing of NCCL any more, and ends it
  // then.
  if (known->settled) {
    known->join();
    if (known->counterpart == nullptr) return;
    known->counterpart->abort();
  }
  // To free memory may wait for all that runs on a GPU, and another communicator's kernel may wait there until the
  // program aborts that one, too, perhaps next: nothing is freed in an abort.
  known_.retire(std::move(known));
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
  auto known = known_.find(comm);
  if (known == nullptr) return from_nccl(nccl_.comm_destroy(comm));
  known->join();
  // Until that is over others find it: an abort or a revoke ends the wait.
  const Status flushed = known->counterpart != nullptr ? known->counterpart->flush() : Status();
  known->wait_for_endings();
  if (known_.take(comm, *known))
    part_in_order(std::move(known), flushed.ok());
  else if (known->freed)
    return aborted_meanwhile();
  else if (const auto revoked = known_.find(comm))
    known_.take(comm, *revoked);
  return ended(nccl_.comm_destroy(comm), flushed);
}

int DropIn::abort(Comm comm) {
  end_at_once(comm, true);
  return from_nccl(nccl_.comm_abort(comm));
}

void DropIn::leave_to_nccl(Comm comm, std::string why) {
  const auto before = known_.find(comm);
  if (before == nullptr) return;
  end_at_once(comm, false);
  auto after = std::make_shared<Known>();
  // Of one that was still being made nothing is known, and parts of it are NCCL's.
  if (before->settled) {
    after->shape = before->shape;
    after->key = before->key;
  }
  after->children = before->children;
  after->config = before->config;
  after->why_not = std::move(why);
  after->settled = true;
  known_.add(comm, std::move(after));
}

int DropIn::revoke(Comm comm, int flags) {
  const Known::Ending ending(known_.find(comm));
  leave_to_nccl(comm, "NCCL: it was revoked");
  return from_nccl(nccl_.comm_revoke(comm, flags));
}

int DropIn::shrink(Comm comm, const std::set<int>& excluded, int flags, std::optional<Config> config, Comm* made,
                   const std::function<int()>& make) {
  constexpr int kShrinkAbort = 1;  // NCCL_SHRINK_ABORT
  const bool ends = (flags & kShrinkAbort) != 0;
  const Known::Ending ending(ends ? known_.find(comm) : nullptr);
  if (ends) leave_to_nccl(comm, "NCCL: what it did was ended to shrink it");
  return make_child(comm, fmt::format("shrink without {}", fmt::join(excluded, ",")), {}, config, made, make);
}

}  // namespace sennit::shim::nccl
