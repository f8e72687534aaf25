#include "shim/nccl/group.h"

#include <algorithm>

namespace sennit::shim::nccl {

namespace {

void add(std::vector<Run>& runs, bool aside, const Grouped& next) {
  const bool goes_on = !runs.empty() && runs.back().taken == next.taken && runs.back().aside == aside &&
                       (!next.taken || runs.back().calls.back().call.comm == next.call.comm);
  if (!goes_on) runs.push_back({next.taken, aside, {}});
  runs.back().calls.push_back(next);
}

}  // namespace

std::vector<Run> arrange(std::span<const Grouped> calls) {
  std::vector<Run> runs;
  if (std::ranges::none_of(calls, &Grouped::taken)) {
    for (const Grouped& each : calls) add(runs, false, each);
    return runs;
  }
  std::vector<Comm> comms;  // as they first come
  for (const Grouped& each : calls)
    if (!each.call.is_message() && std::ranges::find(comms, each.call.comm) == comms.end())
      comms.push_back(each.call.comm);
  for (Comm comm : comms) {
    std::vector<Grouped> own;
    std::ranges::copy_if(calls, std::back_inserter(own),
                         [&](const Grouped& each) { return each.call.comm == comm && !each.call.is_message(); });
    const bool aside = comms.size() > 1 && std::ranges::all_of(own, &Grouped::taken);
    for (const Grouped& each : own) add(runs, aside, each);
  }
  std::vector<Run> messages;
  for (const Grouped& each : calls)
    if (each.call.is_message()) add(messages, false, each);
  runs.insert(runs.end(), messages.begin(), messages.end());
  return runs;
}

}  // namespace sennit::shim::nccl
