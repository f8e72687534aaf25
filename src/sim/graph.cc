#include "sim/graph.h"

#include <algorithm>

namespace sennit::sim {

Graph::Id Graph::add(const Task& task, std::span<const Id> needs) {
  tasks_.push_back(task);
  for (const Id need : needs)
    if (need != kNone) needs_.push_back(need);
  first_need_.push_back(static_cast<std::uint32_t>(needs_.size()));
  return static_cast<Id>(tasks_.size() - 1);
}

Graph::Id Graph::all(std::span<const Id> needs) {
  return needs.size() == 1 ? needs.front() : add({}, needs);
}

Graph::Id Graph::add_multicast(Task task, std::vector<int> to, std::span<const Id> needs) {
  task.to = to.front();
  task.multicast = static_cast<std::int32_t>(groups_.size());
  groups_.push_back(std::move(to));
  return add(task, needs);
}

std::uint32_t Graph::name(std::string_view what) {
  const auto at = static_cast<std::size_t>(std::ranges::find(names_, what) - names_.begin());
  if (at == names_.size()) names_.emplace_back(what);
  return static_cast<std::uint32_t>(at);
}

}  // namespace sennit::sim
