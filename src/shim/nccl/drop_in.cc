#include "shim/nccl/drop_in.h"

#include <chrono>
#include <cstdio>

#include <fmt/format.h>

#include "base/log.h"
#include "comm/job_place.h"
#include "comm/secret.h"
#include "shim/nccl/translate.h"

namespace sennit::shim::nccl {

namespace {

/// How long a communicator's end waits for the other ranks: a default. Those that come later are not waited for, and
/// its memory is kept meanwhile.
constexpr auto kLastWait = std::chrono::milliseconds(100);

/// How often a communicator that NCCL is still at work on is looked at.
constexpr auto kLook = std::chrono::microseconds(50);

std::uint64_t bytes_of(const Call& call) {
  const auto type = type_of(call.type);
  return type ? call.count * device::bytes_of(*type) : 0;
}

}  // namespace

DropIn::Open& DropIn::open() {
  thread_local Open open;
  return open;
}

// ---- calls --------------------------------------------------------------------------------------------------------

std::shared_ptr<Known> DropIn::settled(Comm comm) {
  auto known = known_.find(comm);
  while (known != nullptr && !known->settled.load(std::memory_order_acquire)) std::this_thread::sleep_for(kLook);
  return known;
}

int DropIn::call(const Call& call) {
  const auto known = settled(call.comm);
  if (known == nullptr || known->counterpart == nullptr)
    return pass(call, known.get(),
                known != nullptr ? known->why_not : "NCCL: a communicator that sennit does not know");
  const Verdict& verdict = known->counterpart->judge(call);
  if (Open& group = open(); group.depth > 0) {
    group.calls.push_back({call, verdict.taken, verdict.how});
    return kSuccess;
  }
  return verdict.taken ? perform(call, *known, verdict.how, false, false) : pass(call, known.get(), verdict.how);
}

int DropIn::perform(const Call& call, Known& known, std::string_view how, bool grouped, bool aside) {
  const auto start = std::chrono::steady_clock::now();
  Counterpart& counterpart = *known.counterpart;
  if (counterpart.takes_over(call.stream))
    if (const int code = come_behind_nccl(call, known); code != kSuccess) return code;
  auto status = aside ? counterpart.perform_aside(call) : counterpart.perform(call);
  // Of a group, all begin before any is waited for.
  if (status.ok() && !grouped) status = counterpart.settle();
  if (!status.ok()) return failed(known, call, status);
  count(call, how, start, &known);
  return kSuccess;
}

// NCCL keeps its own calls in order; a message of a rank to itself is one, and needs no other rank.
int DropIn::come_behind_nccl(const Call& call, const Known& known) {
  constexpr int kInt8 = 0;
  std::byte* const message = known.counterpart->own_message();
  int code = nccl_.group_start();
  if (code != kSuccess) return code;
  const int sent = nccl_.send(message, 1, kInt8, known.shape.rank, call.comm, call.stream);
  const int received = nccl_.recv(message + 1, 1, kInt8, known.shape.rank, call.comm, call.stream);
  code = await(nccl_.group_end(), {{call, true, {}}});
  for (const int earlier : {received, sent})
    if (earlier != kSuccess && earlier != kInProgress) code = earlier;
  if (code != kSuccess) say({});
  return code;
}

int DropIn::pass(const Call& call, Known* known, std::string_view why) {
  const auto start = std::chrono::steady_clock::now();
  if (known != nullptr && known->counterpart != nullptr) known->counterpart->passes_on(call.stream);
  const int code = pass_on(nccl_, call);
  if (code != kSuccess && code != kInProgress) say({});
  count(call, why, start, known);
  return code;
}

int DropIn::failed(const Known& known, const Call& call, const Status& status) {
  const std::string text = fmt::format("sennit: {} of {} elements on rank {}: {}", name_of(call.entry), call.count,
                                       known.shape.rank, status.text());
  log(LogLevel::info, text);
  say(text);
  return result_of(status);
}

void DropIn::say(std::string_view text) {
  const std::lock_guard lock(said_mutex_);
  said_[text.copy(said_, sizeof said_ - 1)] = '\0';
}

void DropIn::count(const Call& call, std::string_view how, std::chrono::steady_clock::time_point start,
                   const Known* known) {
  if (switches_.report) {
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    report_.count(name_of(call.entry), bytes_of(call), how, took.count());
  }
  if (switches_.explain && known != nullptr && known->shape.rank == 0)
    explanations_.say(name_of(call.entry), bytes_of(call), how);
}

// ---- groups -------------------------------------------------------------------------------------------------------

int DropIn::group_start() {
  const int code = nccl_.group_start();
  if (code == kSuccess) ++open().depth;
  return code;
}

int DropIn::group_end() {
  Open& group = open();
  if (group.depth > 0) --group.depth;
  if (group.depth > 0) return nccl_.group_end();
  const auto waiting = std::exchange(group.waiting, {});
  const int code = end_group(std::exchange(group.calls, {}));
  begin_all(waiting, code);
  return code;
}

int DropIn::group_simulate_end(void* info) {
  Open& group = open();
  if (group.depth == 1)
    for (const Grouped& each : std::exchange(group.calls, {})) (void)pass_on(nccl_, each.call);
  if (group.depth > 0) --group.depth;
  return nccl_.group_simulate_end(info);
}

int DropIn::end_group(std::vector<Grouped> calls) {
  const std::vector<Run> runs = arrange(calls);
  if (runs.size() <= 1 && (runs.empty() || !runs.front().taken)) {
    // NCCL's group is open.
    int first = kSuccess;
    for (const Grouped& each : calls) {
      const auto known = known_.find(each.call.comm);
      const int code = pass(each.call, known.get(), each.how);
      if (first == kSuccess) first = code;
    }
    const int code = nccl_.group_end();
    return first != kSuccess ? first : code;
  }
  // What else the program has put into it comes first.
  int first = await(nccl_.group_end(), calls);
  std::vector<const Run*> begun;  // of sennit's
  const auto settle_all = [&] {
    for (const Run* run : std::exchange(begun, {})) {
      const Call& last = run->calls.back().call;
      const auto known = settled(last.comm);
      std::vector<Stream> streams;
      for (const Grouped& each : run->calls) streams.push_back(each.call.stream);
      auto status = run->aside ? known->counterpart->join(streams) : Status();
      if (status.ok()) status = known->counterpart->settle();
      if (!status.ok() && first == kSuccess) first = failed(*known, last, status);
    }
  };
  for (const Run& run : runs) {
    if (first != kSuccess) break;
    if (!run.taken) {
      settle_all();
      if (first == kSuccess) first = pass_group(run.calls);
      continue;
    }
    const auto known = settled(run.calls.front().call.comm);
    for (const Grouped& each : run.calls) {
      if (first != kSuccess) break;
      first = perform(each.call, *known, each.how, true, run.aside);
    }
    begun.push_back(&run);
  }
  settle_all();
  return first;
}

int DropIn::pass_group(const std::vector<Grouped>& calls) {
  int first = nccl_.group_start();
  if (first != kSuccess) return first;
  for (const Grouped& each : calls) {
    const auto known = known_.find(each.call.comm);
    const int code = pass(each.call, known.get(), each.how);
    if (first == kSuccess || first == kInProgress) first = code;
  }
  const int code = nccl_.group_end();
  return await(first == kSuccess || first == kInProgress ? code : first, calls);
}

int DropIn::await(int code, const std::vector<Grouped>& calls) {
  if (code != kInProgress) return code;
  int first = kSuccess;
  for (const Grouped& each : calls) {
    int state = kInProgress;
    while (nccl_.comm_get_async_error(each.call.comm, &state) == kSuccess && state == kInProgress)
      std::this_thread::sleep_for(kLook);
    if (first == kSuccess) first = state;
  }
  return first;
}

// ---- communicators ------------------------------------------------------------------------------------------------

Shape DropIn::shape_of(Comm comm) {
  Shape shape;
  (void)nccl_.comm_user_rank(comm, &shape.rank);
  (void)nccl_.comm_count(comm, &shape.size);
  (void)nccl_.comm_cu_device(comm, &shape.device);
  return shape;
}

int DropIn::make(std::string key, int index, int most, bool blocking, Comm* made, const std::function<int()>& make) {
  auto meeting = std::make_shared<Meeting>(key, index, most);
  const int code = make();
  Waiting waiting{made, std::move(key), std::move(meeting), blocking};
  if (open().depth > 0 && code == kSuccess)
    open().waiting.push_back(std::move(waiting));
  else
    begin_all({std::move(waiting)}, code);
  return code;
}

int DropIn::make_all(Comm* made, int count, const std::function<int()>& make) {
  const int code = make();
  const auto secret = comm::random_hex(32);
  if (code != kSuccess || !secret) return code;
  std::vector<Waiting> waiting;
  const std::string key = key_of(*secret);
  for (int i = 0; i < count; ++i) waiting.push_back({made + i, key, std::make_shared<Meeting>(key, i, count)});
  begin_all(std::move(waiting), code);
  return code;
}

int DropIn::make_child(Comm parent, std::string_view how, bool blocking, Comm* made,
                       const std::function<int()>& make) {
  const auto known = settled(parent);
  if (known == nullptr || known->key.empty())
    return make_without(made, "NCCL: its parent is one that sennit does not know", make);
  // It is known to the program alone, and only once NCCL is done.
  if (!blocking || !known->blocking) return make_without(made, "NCCL: a part of one that does not block", make);
  const auto number = known->children.fetch_add(1);
  return this->make(key_of(fmt::format("{} {} {}", known->key, number, how)), known->shape.rank, known->shape.size,
                    true, made, make);
}

int DropIn::make_without(Comm* made, std::string why, const std::function<int()>& make) {
  const int code = make();
  if ((code != kSuccess && code != kInProgress) || made == nullptr || *made == nullptr) return code;
  auto known = std::make_shared<Known>();
  known->why_not = std::move(why);
  known->settled = true;
  known_.add(*made, std::move(known));
  return code;
}

void DropIn::begin_all(std::vector<Waiting> waiting, int code) {
  if (code != kSuccess && code != kInProgress) return;
  known_.retire(nullptr);
  std::vector<std::shared_ptr<Known>> begun;
  for (Waiting& each : waiting) {
    const Comm comm = each.made != nullptr ? *each.made : nullptr;
    if (comm == nullptr) continue;
    auto known = std::make_shared<Known>();
    known->key = std::move(each.key);
    known->blocking = each.blocking;
    known_.add(comm, known);
    begun.push_back(known);
    if (code == kSuccess && waiting.size() == 1) {
      known->shape = shape_of(comm);
      settle(*known, std::move(each.meeting), false);
      continue;
    }
    Known& one = *known;  // which waits for the thread before it goes
    known->making = std::thread([this, comm, &one, meeting = std::move(each.meeting)] {
      int state = kSuccess;
      while (!one.given_up && nccl_.comm_get_async_error(comm, &state) == kSuccess && state == kInProgress)
        std::this_thread::sleep_for(kLook);
      if (state == kSuccess && !one.given_up) {
        one.shape = shape_of(comm);
        settle(one, meeting, true);
      } else {
        one.why_not = "NCCL: it was not made";
        one.settled.store(true, std::memory_order_release);
      }
    });
  }
  // Several at once: each with other ranks, in any order.
  if (code == kSuccess)
    for (const auto& known : begun)
      if (known->making.joinable()) known->making.join();
}

Status DropIn::meet(Known& known, const Meeting& meeting, bool own_thread) {
  const Shape& shape = known.shape;
  if (shape.size == 1) return Status(Code::unsupported, "a rank alone");
  if (shape.size > coll::kMostRanks)
    return Status(Code::unsupported, fmt::format("more than {} ranks", coll::kMostRanks));
  const std::vector<int> present = meeting.present();
  if (present.size() != static_cast<std::size_t>(shape.size)) {
    const auto place = comm::place_from_environment();
    const bool one_host = place.ok() && place->size > 1 && place->local_size == place->size;
    if (one_host && present.front() == meeting.index())
      log(LogLevel::warning,
          fmt::format("not all {} ranks of a communicator run with this sennit: it is left to NCCL", shape.size));
    return Status(Code::unsupported, "its ranks are not all on this machine, with this sennit");
  }
  auto exchange = meeting.meet(shape.rank, shape.size);
  Status status = exchange.status();
  if (status.ok()) {
    auto made = Counterpart::create(std::move(*exchange), shape, *memories_, switches_, own_thread);
    status = made.status();
    if (made.ok()) known.counterpart = std::move(*made);
  }
  if (!status.ok() && shape.rank == 0)
    log(LogLevel::warning, fmt::format("a communicator of {} ranks is left to NCCL: {}", shape.size, status.text()));
  return status;
}

void DropIn::settle(Known& known, std::shared_ptr<const Meeting> meeting, bool own_thread) {
  {
    const std::lock_guard lock(largest_mutex_);
    if (std::pair(-known.shape.size, known.shape.rank) < std::pair(-largest_.size, largest_.rank))
      largest_ = known.shape;
  }
  if (const auto status = meet(known, *meeting, own_thread); !status) {
    known.why_not = fmt::format("NCCL: {}", status.what());
    known.meeting = std::move(meeting);
  }
  known.settled.store(true, std::memory_order_release);
}

int DropIn::finalize(Comm comm) {
  const auto known = known_.find(comm);
  // One that does not block is done with at its end.
  if (known != nullptr && known->blocking && known->settled && known->counterpart != nullptr)
    (void)known->counterpart->flush();
  return nccl_.comm_finalize(comm);
}

void DropIn::end(Comm comm, bool in_order) {
  const auto known = known_.take(comm);
  if (known == nullptr) return;
  if (!in_order) known->given_up = true;
  if (known->making.joinable()) known->making.join();
  if (known->counterpart == nullptr) return;
  Counterpart& counterpart = *known->counterpart;
  // What waits in vain would keep the memory, and the process.
  if (!in_order || !counterpart.flush()) counterpart.abort();
  const auto until = std::chrono::steady_clock::now() + kLastWait;
  bool goes = counterpart.may_go();
  while (in_order && !goes && !counterpart.has_siblings() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(kLook);
    goes = counterpart.may_go();
  }
  known_.retire(goes ? nullptr : std::move(known->counterpart));
}

int DropIn::destroy(Comm comm) {
  end(comm, true);
  return nccl_.comm_destroy(comm);
}

int DropIn::abort(Comm comm) {
  end(comm, false);
  return nccl_.comm_abort(comm);
}

void DropIn::leave_to_nccl(Comm comm, std::string why) {
  const auto before = known_.find(comm);
  if (before == nullptr) return;
  auto after = std::make_shared<Known>();
  after->shape = before->shape;
  after->key = before->key;
  after->children = before->children.load();
  after->blocking = before->blocking;
  after->why_not = std::move(why);
  after->settled = true;
  end(comm, false);
  known_.add(comm, std::move(after));
}

int DropIn::revoke(Comm comm, int flags) {
  leave_to_nccl(comm, "NCCL: it was revoked");
  return nccl_.comm_revoke(comm, flags);
}

int DropIn::shrink(Comm comm, int flags, bool blocking, Comm* made, const std::function<int()>& make) {
  constexpr int kShrinkAbort = 1;  // NCCL_SHRINK_ABORT
  if ((flags & kShrinkAbort) != 0) leave_to_nccl(comm, "NCCL: what it did was ended to shrink it");
  return make_child(comm, "shrink", blocking, made, make);
}

// ---- what the program asks
// ------------------------------------------------------------------------------------------

int DropIn::async_error(Comm comm, int* error) {
  const int code = nccl_.comm_get_async_error(comm, error);
  if (code != kSuccess || error == nullptr || *error != kSuccess) return code;
  const auto known = known_.find(comm);
  if (known == nullptr) return code;
  if (!known->settled.load(std::memory_order_acquire)) {
    *error = kInProgress;
    return code;
  }
  if (known->counterpart == nullptr) return code;
  if (auto status = known->counterpart->check(); !status) {
    *error = result_of(status);
    say(fmt::format("sennit: rank {}: {}", known->shape.rank, status.text()));
  }
  return code;
}

const char* DropIn::last_error(Comm comm) {
  const std::lock_guard lock(said_mutex_);
  return said_[0] != '\0' ? said_ : nccl_.get_last_error(comm);
}

void DropIn::report() const {
  if (!switches_.report || largest_.rank != 0 || largest_.size == 0) return;
  std::fputs(report_.empty() ? "sennit: no collective of NCCL was called on rank 0\n"
                             : report_.text("sennit: NCCL's calls on rank 0, and the host's time for them").c_str(),
             stderr);
}

}  // namespace sennit::shim::nccl
