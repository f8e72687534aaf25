#include "comm/group.h"

#include <algorithm>

#include <fmt/format.h>

namespace sennit::comm {

Group::~Group() = default;

int Group::node_index(int rank) const {
  const auto found = std::ranges::lower_bound(node_ranks_, rank);
  return found != node_ranks_.end() && *found == rank ? int(found - node_ranks_.begin()) : -1;
}

Result<std::uint64_t> Group::offer(UniqueFd file) {
  if (!file) return Status(Code::invalid_argument, "an empty descriptor cannot be offered");
  return agent_->offer(std::move(file));
}

void Group::withdraw(std::uint64_t id) {
  agent_->withdraw(id);
}

Result<UniqueFd> Group::fetch(int peer, std::uint64_t id) const {
  if (peer < 0 || peer >= size())
    return Status(Code::invalid_argument, fmt::format("there is no rank {} among {}", peer, size()));
  return agent_->fetch(peer, id, Deadline::after(limit_));
}

void Group::note(std::string_view operation, std::uint64_t sequence, int peer, std::uint64_t bytes) const {
  control_.note(node_index(rank()), operation, sequence, peer, bytes);
}

Operation Group::last_operation(int rank) const {
  const int index = node_index(rank);
  return index < 0 ? Operation{} : control_.last(index);
}

void Group::abort(const Status& why) {
  agent_->fail(Status(Code::aborted, fmt::format("rank {} aborted: {}", rank(), why.what()), why.where(),
                      why.remedy().empty() ? "Look at the first error of that rank" : why.remedy()));
}

}  // namespace sennit::comm
