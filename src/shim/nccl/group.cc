#include "shim/nccl/group.h"

#include <algorithm>
#include <map>
#include <utility>

namespace sennit::shim::nccl {

namespace {

void add(std::vector<Run>& runs, bool aside, const Grouped& next) {
  const bool goes_on = !runs.empty() && runs.back().taken == next.taken && runs.back().aside == aside &&
                       (!next.taken || runs.back().calls.back().call.comm == next.call.comm);
  if (!goes_on) runs.push_back({next.taken, aside, {}});
  runs.back().calls.push_back(next);
}

/// As they first come.
std::vector<Comm> comms_of(std::span<const Grouped> calls, bool of_messages) {
  std::vector<Comm> comms;
  for (const Grouped& each : calls)
    if (each.call.is_message() == of_messages && std::ranges::find(comms, each.call.comm) == comms.end())
      comms.push_back(each.call.comm);
  return comms;
}

std::vector<Run> messages_of(std::span<const Grouped> calls) {
  std::vector<Run> runs;
  Run nccls{false, false, {}, true};
  for (Comm comm : comms_of(calls, true)) {
    Run own{true, false, {}, true};
    for (const Grouped& each : calls)
      if (each.call.is_message() && each.call.comm == comm && each.taken) own.calls.push_back(each);
    if (!own.calls.empty()) runs.push_back(std::move(own));
  }
  for (const Grouped& each : calls)
    if (each.call.is_message() && !each.taken) nccls.calls.push_back(each);
  if (!nccls.calls.empty()) runs.push_back(std::move(nccls));
  for (Run& run : runs) {
    const Stream first = run.calls.front().call.stream;
    const bool one_stream =
        std::ranges::all_of(run.calls, [&](const Grouped& each) { return each.call.stream == first; });
    run.aside = run.taken && (runs.size() > 1 || !one_stream);
  }
  return runs;
}

}  // namespace

void leave_unpaired(std::span<Grouped> calls) {
  for (Comm comm : comms_of(calls, true)) {
    std::vector<std::pair<std::size_t, int>> sent, received;
    for (const Grouped& each : calls)
      if (each.to_itself && each.call.comm == comm)
        (each.call.entry == Entry::send ? sent : received).emplace_back(each.call.count, each.call.type);
    if (sent == received) continue;
    for (Grouped& each : calls)
      if (each.to_itself && each.call.comm == comm) {
        each.taken = false;
        each.how = "NCCL: of a rank to itself, with no other end in its group";
      }
  }
}

std::vector<Run> arrange(std::span<const Grouped> calls) {
  std::vector<Run> runs;
  if (std::ranges::none_of(calls, &Grouped::taken)) {
    for (const Grouped& each : calls) add(runs, false, each);
    return runs;
  }
  const std::vector<Comm> comms = comms_of(calls, false);
  std::map<int, std::vector<std::pair<bool, Grouped>>> turns;  // of sennit's the even ones; with Run::aside
  for (Comm comm : comms) {
    std::vector<Grouped> own;
    std::ranges::copy_if(calls, std::back_inserter(own),
                         [&](const Grouped& each) { return each.call.comm == comm && !each.call.is_message(); });
    const bool aside = comms.size() > 1 && std::ranges::all_of(own, &Grouped::taken);
    int turn = 0;
    for (const Grouped& each : own) {
      turn += (turn % 2 == 0) == each.taken ? 0 : 1;
      turns[turn].emplace_back(aside, each);
    }
  }
  for (const auto& [turn, all] : turns)
    for (const auto& [aside, each] : all) add(runs, aside, each);
  std::ranges::move(messages_of(calls), std::back_inserter(runs));
  return runs;
}

}  // namespace sennit::shim::nccl
