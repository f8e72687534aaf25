#include "shim/nccl/group.h"

#include <algorithm>
#include <map>
#include <utility>

namespace sennit::shim::nccl {

namespace {

void add(std::vector<Run>& runs, bool on_side_stream, const GroupedCall& next) {
  const bool goes_on = !runs.empty() && runs.back().ours == next.ours &&
                       runs.back().on_side_stream == on_side_stream &&
                       (!next.ours || runs.back().calls.back().call.comm == next.call.comm);
  if (!goes_on) runs.push_back({next.ours, on_side_stream, {}});
  runs.back().calls.push_back(next);
}

/// Returns the communicators of the calls as they first come.
std::vector<Comm> comms_of(std::span<const GroupedCall> calls, bool of_messages) {
  std::vector<Comm> comms;
  for (const GroupedCall& each : calls)
    if (each.call.is_message() == of_messages && std::ranges::find(comms, each.call.comm) == comms.end())
      comms.push_back(each.call.comm);
  return comms;
}

std::vector<Run> messages_of(std::span<const GroupedCall> calls) {
  std::vector<Run> runs;
  Run nccls{false, false, {}, true};
  for (Comm comm : comms_of(calls, true)) {
    Run own{true, false, {}, true};
    for (const GroupedCall& each : calls)
      if (each.call.is_message() && each.call.comm == comm && each.ours) own.calls.push_back(each);
    if (!own.calls.empty()) runs.push_back(std::move(own));
  }
  for (const GroupedCall& each : calls)
    if (each.call.is_message() && !each.ours) nccls.calls.push_back(each);
  if (!nccls.calls.empty()) runs.push_back(std::move(nccls));
  for (Run& run : runs) {
    const Stream first = run.calls.front().call.stream;
    const bool one_stream =
        std::ranges::all_of(run.calls, [&](const GroupedCall& each) { return each.call.stream == first; });
    run.on_side_stream = run.ours && (runs.size() > 1 || !one_stream);
  }
  return runs;
}

}  // namespace

void leave_unpaired(std::span<GroupedCall> calls) {
  for (Comm comm : comms_of(calls, true)) {
    std::vector<std::pair<std::size_t, int>> sent, received;
    for (const GroupedCall& each : calls)
      if (each.to_itself && each.call.comm == comm)
        (each.call.entry == Entry::send ? sent : received).emplace_back(each.call.count, each.call.type);
    if (sent == received) continue;
    for (GroupedCall& each : calls)
      if (each.to_itself && each.call.comm == comm) {
        each.ours = false;
        each.how = "NCCL: of a rank to itself, with no other end in its group";
      }
  }
}

std::vector<Run> arrange(std::span<const GroupedCall> calls) {
  std::vector<Run> runs;
  if (std::ranges::none_of(calls, &GroupedCall::ours)) {
    for (const GroupedCall& each : calls) add(runs, false, each);
    return runs;
  }
  const std::vector<Comm> comms = comms_of(calls, false);
  std::map<int, std::vector<std::pair<bool, GroupedCall>>>
      turns;  // of sennit's the even ones; with Run::on_side_stream
  for (Comm comm : comms) {
    std::vector<GroupedCall> own;
    std::ranges::copy_if(calls, std::back_inserter(own),
                         [&](const GroupedCall& each) { return each.call.comm == comm && !each.call.is_message(); });
    const bool on_side_stream = comms.size() > 1 && std::ranges::all_of(own, &GroupedCall::ours);
    int turn = 0;
    for (const GroupedCall& each : own) {
      turn += (turn % 2 == 0) == each.ours ? 0 : 1;
      turns[turn].emplace_back(on_side_stream, each);
    }
  }
  for (const auto& [turn, all] : turns)
    for (const auto& [on_side_stream, each] : all) add(runs, on_side_stream, each);
  std::ranges::move(messages_of(calls), std::back_inserter(runs));
  return runs;
}

}  // namespace sennit::shim::nccl
