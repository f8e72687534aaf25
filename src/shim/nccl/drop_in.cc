#include "shim/nccl/drop_in.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "comm/job_place.h"
#include "shim/nccl/translate.h"

namespace sennit::shim::nccl {

namespace {

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

std::shared_ptr<CommState> DropIn::settled(Comm comm) {
  auto state = comms_.find(comm);
  if (state == nullptr) {
    begin_parts();
    state = comms_.find(comm);
  }
  while (state != nullptr && !is_made(state->phase())) {
    if (is_over(state->phase())) return nullptr;
    std::this_thread::sleep_for(kLook);
  }
  return state;
}

int DropIn::call(const Call& call) {
  const auto state = settled(call.comm);
  if (state == nullptr || state->counterpart == nullptr)
    return pass(
        call, state.get(),
        state != nullptr ? std::string_view(state->reason) : "NCCL: a communicator that sennit does not know");
  static const Verdict left{false, "NCCL: the program leaves its calls there"};
  const Verdict& verdict = left_.load(std::memory_order_relaxed) ? left : state->counterpart->judge(call);
  const bool to_itself = call.is_message() && call.root == state->shape.rank;
  if (Open& group = open(); group.depth > 0) {
    group.calls.push_back({call, verdict.taken, verdict.how, to_itself, state, hold_operator(call, state)});
    return kSuccess;
  }
  if (to_itself) return pass(call, state.get(), "NCCL: of a rank to itself, with no other end in its group");
  return verdict.taken ? perform(call, *state, verdict.how, false, false) : pass(call, state.get(), verdict.how);
}

std::shared_ptr<const void> DropIn::hold_operator(const Call& call, const std::shared_ptr<CommState>& state) {
  if (call.op == 0 || operator_of(call.op)) return nullptr;
  state->operators.hold(call.op);
  return {state.get(), [this, op = call.op, comm = call.comm, state](const void*) {
            // The program may have ended the communicator meanwhile, and its operators with it.
            const CommGuard guard(state.get());
            if (state->operators.release(op) && guard && comms_.find(comm) == state)
              (void)nccl_.red_op_destroy(op, comm);
          }};
}

int DropIn::destroy_operator(int op, Comm comm) {
  const auto state = comms_.find(comm);
  if (state != nullptr && state->operators.destroy_later(op)) return kSuccess;
  return from_nccl(nccl_.red_op_destroy(op, comm));
}

int DropIn::perform(const Call& call, CommState& state, std::string_view how, bool grouped, bool aside) {
  const auto start = begin_count();
  Counterpart& counterpart = *state.counterpart;
  const auto follows = counterpart.take_over(call.stream);
  if (!follows) return failed(state, call, follows.status());
  if (*follows)
    if (const int code = come_behind_nccl(call, state); code != kSuccess) return code;
  auto status = aside ? counterpart.perform_aside(call) : counterpart.perform(call);
  // Of a group, all begin before any is waited for.
  if (status.ok() && !grouped) status = counterpart.finish_emulated();
  if (!status.ok()) return failed(state, call, status);
  taken_.fetch_add(1, std::memory_order_relaxed);
  count(call, how, start, &state);
  return kSuccess;
}

// NCCL keeps its own calls in order; a message of a rank to itself is one, and needs no other rank.
int DropIn::come_behind_nccl(const Call& call, CommState& state) {
  constexpr int kInt8 = 0;
  std::byte* const message = state.counterpart->own_message();
  int code = nccl_.group_start();
  if (code != kSuccess) return from_nccl(code);
  const int sent = nccl_.send(message, 1, kInt8, state.shape.rank, call.comm, call.stream);
  const int received = nccl_.recv(message + 1, 1, kInt8, state.shape.rank, call.comm, call.stream);
  code = nccl_.group_end();
  if (code == kInProgress) code = wait_for_nccl(&state, call.comm);
  for (const int earlier : {received, sent})
    if (earlier != kSuccess && earlier != kInProgress) code = earlier;
  return from_nccl(code);
}

int DropIn::pass(const Call& call, CommState* state, std::string_view why, bool tells) {
  const auto start = begin_count();
  Counterpart* const counterpart = state != nullptr ? state->counterpart.get() : nullptr;
  if (counterpart != nullptr) {
    if (auto status = tells ? counterpart->hand_on(call.stream) : Status(); !status)
      return failed_before_nccl(*state, status);
    counterpart->note_nccls(call);  // NCCL may wait for the others to connect
  }
  const int code = from_nccl(pass_on(nccl_, call));
  if (counterpart != nullptr && code != kSuccess && code != kInProgress) counterpart->note_refused(call);
  count(call, why, start, state);
  return code;
}

int DropIn::enqueue(std::string_view name, Comm comm, Stream stream, const std::function<int()>& make) {
  const auto start = begin_count();
  if (const auto state = settled(comm); state != nullptr && state->counterpart != nullptr)
    if (auto status = state->counterpart->hand_on(stream); !status) return failed_before_nccl(*state, status);
  const int code = from_nccl(make());
  count(name, 0, "NCCL: sennit has no such call", start);
  return code;
}

int DropIn::failed(const CommState& state, const Call& call, const Status& status) {
  const std::string text = fmt::format("sennit: {} of {} elements on rank {}: {}", name_of(call.entry), call.count,
                                       state.shape.rank, status.text());
  log(LogLevel::info, text);
  say(text);
  return result_of(status);
}

int DropIn::failed_before_nccl(const CommState& state, const Status& status) {
  say(fmt::format("sennit: rank {}: a call of NCCL's cannot be put behind sennit's: {}", state.shape.rank,
                  status.text()));
  return result_of(status);
}

void DropIn::say(std::string_view text) {
  const std::lock_guard lock(said_mutex_);
  said_[text.copy(said_, sizeof said_ - 1)] = '\0';
}

int DropIn::from_nccl(int code) {
  if (code != kSuccess && code != kInProgress) say({});
  return code;
}

void DropIn::count(const Call& call, std::string_view how, std::chrono::steady_clock::time_point start,
                   const CommState* state) {
  if (switches_.report) count(name_of(call.entry), bytes_of(call), how, start);
  if (switches_.explain && state != nullptr && speaks(state->shape))
    explanations_.say(name_of(call.entry), bytes_of(call), how);
}

void DropIn::count(std::string_view name, std::uint64_t bytes, std::string_view how,
                   std::chrono::steady_clock::time_point start) {
  if (!switches_.report) return;
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  report_.count(name, bytes, how, took.count());
}

// ---- groups -------------------------------------------------------------------------------------------------------

int DropIn::group_start() {
  const int code = nccl_.group_start();
  if (code == kSuccess) ++open().depth;
  return from_nccl(code);
}

int DropIn::leave_group(const std::function<int(std::vector<Grouped>)>& end) {
  Open& group = open();
  if (group.depth > 0) --group.depth;
  if (group.depth > 0) return end({});
  auto waiting = std::exchange(group.waiting, {});
  auto windows = std::exchange(group.windows, {});
  const int code = end(std::exchange(group.calls, {}));
  begin_all(std::move(waiting), code);
  if (code == kSuccess || code == kInProgress) open_windows(std::move(windows));
  return code;
}

int DropIn::group_end() {
  return leave_group([&](std::vector<Grouped> calls) { return end_group(std::move(calls)); });
}

int DropIn::group_simulate_end(void* info) {
  return leave_group([&](const std::vector<Grouped>& calls) {
    for (const Grouped& each : calls) (void)pass_on(nccl_, each.call);
    return from_nccl(nccl_.group_simulate_end(info));
  });
}

int DropIn::end_group(std::vector<Grouped> calls) {
  leave_unpaired(calls);
  const std::vector<Run> runs = arrange(calls);
  if (runs.size() <= 1 && (runs.empty() || !runs.front().taken)) {
    // NCCL's group is open.
    int first = kSuccess;
    for (const Grouped& each : calls) {
      const int code = pass(each.call, each.state.get(), each.how);
      if (first == kSuccess || first == kInProgress) first = code;
    }
    const int code = from_nccl(nccl_.group_end());
    return first == kSuccess || first == kInProgress ? code : first;
  }
  // What else the program has put into it comes first. Of communicators that have no calls here, and do not block, it
  // may be under way for long: the program asks those itself, as the code tells it to.
  const int others = nccl_.group_end();
  int first = from_nccl(await(others, calls));
  std::vector<const Run*> begun;  // of sennit's
  auto run = runs.begin();
  for (; run != runs.end() && !run->messages && first == kSuccess; ++run) {
    if (!run->taken) {
      first = join_all(begun, first);
      if (first == kSuccess) first = pass_group(run->calls, {});
      continue;
    }
    for (const Grouped& each : run->calls) {
      if (first != kSuccess) break;
      first = perform(each.call, *each.state, each.how, true, run->aside);
    }
    begun.push_back(&*run);
  }
  first = join_all(begun, first);
  if (first == kSuccess) first = end_messages(std::span(run, runs.end()));
  return first == kSuccess && others == kInProgress ? kInProgress : first;
}

int DropIn::end_messages(std::span<const Run> runs) {
  int first = kSuccess;
  std::vector<const Run*> begun;
  std::vector<Comm> divided;  // of which NCCL has some
  for (const Run& run : runs) {
    if (first != kSuccess) break;
    if (!run.taken) {
      first = pass_group(run.calls, divided);
      continue;
    }
    const Call& call = run.calls.front().call;
    const auto& state = run.calls.front().state;
    Stream other{};
    const bool divides = runs.back().taken ? false : std::ranges::any_of(runs.back().calls, [&](const Grouped& each) {
      other = each.call.stream;
      return each.call.comm == call.comm;
    });
    if (divides) divided.push_back(call.comm);
    Result<bool> follows =
        divides ? state->counterpart->divide(call.stream, other) : state->counterpart->take_over(call.stream);
    if (!follows)
      first = failed_before_nccl(*state, follows.status());
    else if (*follows)
      first = come_behind_nccl(call, *state);
    if (first == kSuccess) first = perform_messages(run, *state);
    begun.push_back(&run);
  }
  return join_all(begun, first);
}

int DropIn::perform_messages(const Run& run, CommState& state) {
  auto start = begin_count();
  std::vector<Call> calls;
  for (const Grouped& each : run.calls) calls.push_back(each.call);
  if (auto status = state.counterpart->perform_messages(calls, run.aside); !status)
    return failed(state, calls.front(), status);
  taken_.fetch_add(calls.size(), std::memory_order_relaxed);
  for (const Grouped& each : run.calls) {
    count(each.call, each.how, start, &state);
    start = begin_count();  // the first one is said to have taken it all
  }
  return kSuccess;
}

int DropIn::join_all(std::vector<const Run*>& begun, int first) {
  for (const Run* run : std::exchange(begun, {})) {
    const Call& last = run->calls.back().call;
    const auto& state = run->calls.back().state;
    std::vector<Stream> streams;
    for (const Grouped& each : run->calls) streams.push_back(each.call.stream);
    auto status = run->aside ? state->counterpart->join(streams) : Status();
    if (status.ok()) status = state->counterpart->finish_emulated();
    if (!status.ok() && first == kSuccess) first = failed(*state, last, status);
  }
  return first;
}

int DropIn::pass_group(const std::vector<Grouped>& calls, std::span<const Comm> told) {
  int first = nccl_.group_start();
  if (first != kSuccess) return from_nccl(first);
  for (const Grouped& each : calls) {
    const bool tells = std::ranges::find(told, each.call.comm) == told.end();
    const int code = pass(each.call, each.state.get(), each.how, tells);
    if (first == kSuccess || first == kInProgress) first = code;
  }
  const int code = nccl_.group_end();
  if (first != kSuccess && first != kInProgress) return first;
  return from_nccl(await(code, calls));
}

int DropIn::await(int code, const std::vector<Grouped>& calls) {
  if (code != kInProgress) return code;
  int first = kSuccess;
  for (const Grouped& each : calls) {
    const int said = wait_for_nccl(each.state.get(), each.call.comm);
    if (first == kSuccess) first = said;
  }
  return first;
}

int DropIn::wait_for_nccl(CommState* state, Comm comm) {
  int code = kInProgress;
  for (;; std::this_thread::sleep_for(kLook)) {
    const CommGuard guard(state);
    if (!guard || nccl_.comm_get_async_error(comm, &code) != kSuccess || code != kInProgress) return code;
  }
}

// ---- what the program asks ---------------------------------------------------------------------------------------

int DropIn::async_error(Comm comm, int* error) {
  const int code = nccl_.comm_get_async_error(comm, error);
  if (code != kSuccess || error == nullptr || *error == kInProgress) return from_nccl(code);
  // That all is well with it need not mean that what was asked of it is there already.
  begin_parts(*error != kSuccess ? comm : nullptr, false);
  const auto state = comms_.find(comm);
  // A watchdog hears of one error again and again, and what was said meanwhile is newer.
  if (state == nullptr || state->last_error.exchange(*error) != *error) (void)from_nccl(*error);
  if (state == nullptr || *error != kSuccess) return code;
  if (!is_made(state->phase())) {
    *error = kInProgress;
    return code;
  }
  if (state->counterpart == nullptr) return code;
  if (auto status = state->counterpart->check(); !status) {
    *error = result_of(status);
    say(fmt::format("sennit: rank {}: {}", state->shape.rank, status.text()));
  } else if (is_under_way(*state)) {
    *error = kInProgress;
  }
  return code;
}

const char* DropIn::last_error(Comm comm) {
  const std::lock_guard lock(said_mutex_);
  return said_[0] != '\0' ? said_ : nccl_.get_last_error(comm);
}

bool DropIn::speaks(const Shape& shape) {
  static const auto place = comm::place_from_environment();
  // Tasks of a launcher may start the ranks, more of them than it knows of.
  return place.ok() && place->size > 1 && place->size >= shape.size ? place->rank == 0 : shape.rank == 0;
}

void DropIn::report() const {
  if (!switches_.report || largest_.size == 0 || !speaks(largest_)) return;
  std::fputs(report_.empty() ? "sennit: no collective of NCCL was called on rank 0\n"
                             : report_.text("sennit: NCCL's calls on rank 0, and the host's time for them").c_str(),
             stderr);
}

}  // namespace sennit::shim::nccl
