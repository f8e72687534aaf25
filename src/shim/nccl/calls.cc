#include "shim/nccl/calls.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "shim/nccl/abi/types.h"

namespace sennit::shim::nccl {

int Calls::call(const Call& call) {
  const auto state = lifecycle_.find_made(call.comm);
  if (state == nullptr || state->communicator == nullptr)
    return pass(
        call, state.get(),
        state != nullptr ? std::string_view(state->reason) : "NCCL: a communicator that sennit does not know");
  static const Decision left{false, "NCCL: the program leaves its calls there"};
  const Decision& decision =
      left_.load(std::memory_order_relaxed) ? left : state->communicator->decider().decide(call);
  const bool to_itself = call.is_message() && call.root == state->place.rank;
  if (OpenGroup& group = OpenGroup::mine(); group.depth > 0) {
    process_.tally.tell(decision.how);
    group.calls.push_back({call, decision.ours, decision.how, to_itself, state, hold_operator(call, state)});
    return kSuccess;
  }
  if (to_itself) return pass(call, state.get(), "NCCL: of a rank to itself, with no other end in its group");
  return decision.ours ? perform(call, *state, decision.how, false, false) : pass(call, state.get(), decision.how);
}

int Calls::enqueue(std::string_view name, Comm comm, Stream stream, const std::function<int()>& make) {
  const auto start = process_.tally.begin();
  if (const auto state = lifecycle_.find_made(comm); state != nullptr && state->communicator != nullptr)
    if (auto status = state->communicator->order().order_nccl_after(stream); !status)
      return failed_before_nccl(*state, status);
  const int code = process_.last_error.from_nccl(make());
  process_.tally.count(name, 0, "NCCL: sennit has no such call", start);
  return code;
}

int Calls::perform(const Call& call, CommState& state, std::string_view how, bool in_group, bool on_side_stream) {
  const auto start = process_.tally.begin();
  Communicator& communicator = *state.communicator;
  const auto follows = communicator.order().order_ours_after(call.stream);
  if (!follows) return failed(state, call, follows.status());
  if (*follows)
    if (const int code = put_behind_nccl(call, state); code != kSuccess) return code;
  auto status = communicator.perform(call, on_side_stream);
  // Of a group, all begin before any is waited for.
  if (status.ok() && !in_group) status = communicator.finish_emulated();
  if (!status.ok()) return failed(state, call, status);
  process_.tally.count_taken(1);
  process_.tally.count(call, how, start, &state);
  return kSuccess;
}

// NCCL keeps its own calls in order; a message of a rank to itself is one, and needs no other rank.
int Calls::put_behind_nccl(const Call& call, CommState& state) {
  constexpr int kInt8 = 0;
  const Functions& nccl = process_.nccl;
  std::byte* const message = state.communicator->own_message();
  int code = nccl.group_start();
  if (code != kSuccess) return process_.last_error.from_nccl(code);
  const int sent = nccl.send(message, 1, kInt8, state.place.rank, call.comm, call.stream);
  const int received = nccl.recv(message + 1, 1, kInt8, state.place.rank, call.comm, call.stream);
  code = nccl.group_end();
  if (code == kInProgress) code = process_.wait_for_nccl(&state, call.comm);
  for (const int earlier : {received, sent})
    if (earlier != kSuccess && earlier != kInProgress) code = earlier;
  return process_.last_error.from_nccl(code);
}

int Calls::pass(const Call& call, CommState* state, std::string_view why, bool is_ordered) {
  const auto start = process_.tally.begin();
  Communicator* const communicator = state != nullptr ? state->communicator.get() : nullptr;
  if (communicator != nullptr) {
    if (auto status = is_ordered ? Status() : communicator->order().order_nccl_after(call.stream); !status)
      return failed_before_nccl(*state, status);
    communicator->note_nccls(call);  // NCCL may wait for the others to connect
  }
  const int code = process_.last_error.from_nccl(call_nccl(process_.nccl, call));
  if (communicator != nullptr && code != kSuccess && code != kInProgress) communicator->note_refused(call);
  process_.tally.count(call, why, start, state);
  return code;
}

int Calls::failed(const CommState& state, const Call& call, const Status& status) {
  const std::string text = fmt::format("sennit: {} of {} elements on rank {}: {}", name_of(call.entry), call.count,
                                       state.place.rank, status.text());
  log(LogLevel::info, text);
  process_.last_error.say(text);
  return result_of(status);
}

int Calls::failed_before_nccl(const CommState& state, const Status& status) {
  process_.last_error.say(fmt::format("sennit: rank {}: a call of NCCL's cannot be put behind sennit's: {}",
                                      state.place.rank, status.text()));
  return result_of(status);
}

// ---- operators of the program's -----------------------------------------------------------------------------------

std::shared_ptr<const void> Calls::hold_operator(const Call& call, const std::shared_ptr<CommState>& state) {
  if (call.op == 0 || operator_of(call.op)) return nullptr;
  state->operators.hold(call.op);
  return {state.get(), [this, op = call.op, comm = call.comm, state](const void*) {
            // The program may have ended the communicator meanwhile, and its operators with it.
            const CommGuard guard(state.get());
            if (state->operators.release(op) && guard && process_.comms.find(comm) == state)
              (void)process_.nccl.red_op_destroy(op, comm);
          }};
}

int Calls::red_op_destroy(int op, Comm comm) {
  const auto state = process_.comms.find(comm);
  if (state != nullptr && state->operators.destroy_later(op)) return kSuccess;
  return process_.last_error.from_nccl(process_.nccl.red_op_destroy(op, comm));
}

// ---- windows ------------------------------------------------------------------------------------------------------

int Calls::comm_window_register(Comm comm, void* data, std::size_t bytes, WindowHandle* made, int flags) {
  const int code = process_.last_error.from_nccl(process_.nccl.comm_window_register(comm, data, bytes, made, flags));
  if (code != kSuccess || (flags & kWindowSymmetric) == 0 || made == nullptr) return code;
  if (OpenGroup& group = OpenGroup::mine(); group.depth > 0)
    group.windows.push_back({comm, data, bytes, made});
  else
    open_windows({{comm, data, bytes, made}});
  return code;
}

void Calls::open_windows(std::vector<PendingWindow> windows) {
  std::vector<std::pair<std::shared_ptr<CommState>, const PendingWindow*>> ours;
  for (const PendingWindow& each : windows)
    // Where it does not block NCCL may not be done.
    if (auto state = lifecycle_.find_made(each.comm);
        state != nullptr && state->communicator != nullptr && state->communicator->all_block())
      ours.emplace_back(std::move(state), &each);
  // A group may have its communicators in another order on each rank; those of one are in order.
  std::ranges::stable_sort(ours, {}, [](const auto& each) { return each.first->key; });
  for (const auto& [state, window] : ours) {
    // In a group with others that do not block, NCCL may still be at work.
    (void)process_.wait_for_nccl(state.get(), window->comm);
    if (auto status = state->communicator->open_window(window->data, window->bytes, *window->made); !status)
      log(LogLevel::info,
          fmt::format("a window of {} bytes is used by NCCL alone: {}", window->bytes, status.text()));
  }
}

int Calls::comm_window_deregister(Comm comm, WindowHandle window) {
  if (const auto state = process_.comms.find(comm);
      state != nullptr && is_made(state->phase()) && state->communicator != nullptr)
    state->communicator->close_window(window);
  return process_.last_error.from_nccl(process_.nccl.comm_window_deregister(comm, window));
}

}  // namespace sennit::shim::nccl
