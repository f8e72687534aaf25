// Ends a program's group: its calls, by both libraries, in the order that group.h says.
#include <algorithm>
#include <utility>

#include "shim/nccl/calls.h"

namespace sennit::shim::nccl {

int Calls::group_start() {
  const int code = process_.nccl.group_start();
  if (code == kSuccess) ++OpenGroup::mine().depth;
  return process_.last_error.from_nccl(code);
}

int Calls::leave_group(const std::function<int(std::vector<GroupedCall>)>& end) {
  OpenGroup& group = OpenGroup::mine();
  if (group.depth > 0) --group.depth;
  if (group.depth > 0) return end({});
  auto comms = std::exchange(group.comms, {});
  auto windows = std::exchange(group.windows, {});
  const int code = end(std::exchange(group.calls, {}));
  lifecycle_.begin(std::move(comms), code);
  if (code == kSuccess || code == kInProgress) open_windows(std::move(windows));
  return code;
}

int Calls::group_end() {
  return leave_group([&](std::vector<GroupedCall> calls) { return run_group(std::move(calls)); });
}

int Calls::group_simulate_end(void* info) {
  return leave_group([&](const std::vector<GroupedCall>& calls) {
    for (const GroupedCall& each : calls) (void)call_nccl(process_.nccl, each.call);
    return process_.last_error.from_nccl(process_.nccl.group_simulate_end(info));
  });
}

int Calls::run_group(std::vector<GroupedCall> calls) {
  leave_unpaired(calls);
  const std::vector<Run> runs = arrange(calls);
  if (runs.size() <= 1 && (runs.empty() || !runs.front().ours)) {
    // NCCL's group is open.
    int first = kSuccess;
    for (const GroupedCall& each : calls) {
      const int code = pass(each.call, each.state.get(), each.how);
      if (first == kSuccess || first == kInProgress) first = code;
    }
    const int code = process_.last_error.from_nccl(process_.nccl.group_end());
    return first == kSuccess || first == kInProgress ? code : first;
  }
  // What else the program has put into it comes first. Of communicators that have no calls here, and do not block, it
  // may be under way for long: the program asks those itself, as the code tells it to.
  const int others = process_.nccl.group_end();
  int first = process_.last_error.from_nccl(await(others, calls));
  std::vector<const Run*> begun;  // of sennit's
  auto run = runs.begin();
  for (; run != runs.end() && !run->messages && first == kSuccess; ++run) {
    if (!run->ours) {
      first = join_all(begun, first);
      if (first == kSuccess) first = pass_group(run->calls, {});
      continue;
    }
    for (const GroupedCall& each : run->calls) {
      if (first != kSuccess) break;
      first = perform(each.call, *each.state, each.how, true, run->on_side_stream);
    }
    begun.push_back(&*run);
  }
  first = join_all(begun, first);
  if (first == kSuccess) first = run_messages(std::span(run, runs.end()));
  return first == kSuccess && others == kInProgress ? kInProgress : first;
}

int Calls::run_messages(std::span<const Run> runs) {
  int first = kSuccess;
  std::vector<const Run*> begun;
  std::vector<Comm> forked;  // of which NCCL has some
  for (const Run& run : runs) {
    if (first != kSuccess) break;
    if (!run.ours) {
      first = pass_group(run.calls, forked);
      continue;
    }
    const Call& call = run.calls.front().call;
    const auto& state = run.calls.front().state;
    Stream nccls{};
    const bool forks = !runs.back().ours && std::ranges::any_of(runs.back().calls, [&](const GroupedCall& each) {
      nccls = each.call.stream;
      return each.call.comm == call.comm;
    });
    if (forks) forked.push_back(call.comm);
    StreamOrder& order = state->communicator->order();
    const Result<bool> follows = forks ? order.fork(call.stream, nccls) : order.order_ours_after(call.stream);
    if (!follows)
      first = failed_before_nccl(*state, follows.status());
    else if (*follows)
      first = put_behind_nccl(call, *state);
    if (first == kSuccess) first = perform_messages(run, *state);
    begun.push_back(&run);
  }
  return join_all(begun, first);
}

int Calls::perform_messages(const Run& run, CommState& state) {
  auto start = process_.tally.begin();
  std::vector<Call> calls;
  for (const GroupedCall& each : run.calls) calls.push_back(each.call);
  if (auto status = state.communicator->perform_messages(calls, run.on_side_stream); !status)
    return failed(state, calls.front(), status);
  process_.tally.count_taken(calls.size());
  for (const GroupedCall& each : run.calls) {
    process_.tally.count(each.call, each.how, start, &state);
    start = process_.tally.begin();  // the first one is said to have taken it all
  }
  return kSuccess;
}

int Calls::join_all(std::vector<const Run*>& begun, int first) {
  for (const Run* run : std::exchange(begun, {})) {
    const Call& last = run->calls.back().call;
    const auto& state = run->calls.back().state;
    std::vector<Stream> streams;
    for (const GroupedCall& each : run->calls) streams.push_back(each.call.stream);
    auto status = run->on_side_stream ? state->communicator->order().join_side_stream(streams) : Status();
    if (status.ok()) status = state->communicator->finish_emulated();
    if (!status.ok() && first == kSuccess) first = failed(*state, last, status);
  }
  return first;
}

int Calls::pass_group(const std::vector<GroupedCall>& calls, std::span<const Comm> ordered) {
  int first = process_.nccl.group_start();
  if (first != kSuccess) return process_.last_error.from_nccl(first);
  for (const GroupedCall& each : calls) {
    const bool is_ordered = std::ranges::find(ordered, each.call.comm) != ordered.end();
    const int code = pass(each.call, each.state.get(), each.how, is_ordered);
    if (first == kSuccess || first == kInProgress) first = code;
  }
  const int code = process_.nccl.group_end();
  if (first != kSuccess && first != kInProgress) return first;
  return process_.last_error.from_nccl(await(code, calls));
}

int Calls::await(int code, const std::vector<GroupedCall>& calls) {
  if (code != kInProgress) return code;
  int first = kSuccess;
  for (const GroupedCall& each : calls) {
    const int said = process_.wait_for_nccl(each.state.get(), each.call.comm);
    if (first == kSuccess) first = said;
  }
  return first;
}

}  // namespace sennit::shim::nccl
