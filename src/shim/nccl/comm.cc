#include "shim/nccl/comm.h"

#include <iterator>
#include <utility>

namespace sennit::shim::nccl {

std::shared_ptr<CommState> CommRegistry::find(Comm comm) const {
  const std::shared_lock lock(mutex_);
  const auto found = all_.find(comm);
  return found != all_.end() ? found->second : nullptr;
}

void CommRegistry::add(Comm comm, std::shared_ptr<CommState> state) {
  const std::unique_lock lock(mutex_);
  all_[comm].swap(state);  // the one that had the name before ends without the lock
}

bool CommRegistry::take(Comm comm, const CommState& state) {
  const std::unique_lock lock(mutex_);
  const auto found = all_.find(comm);
  if (found == all_.end() || found->second.get() != &state) return false;
  all_.erase(found);
  return true;
}

std::optional<CommPhase> CommRegistry::end(Comm comm, CommState& state, CommEvent event) {
  const std::unique_lock lock(mutex_);
  const auto found = all_.find(comm);
  if (found == all_.end() || found->second.get() != &state) return std::nullopt;
  const CommPhase before = state.advance(event);
  all_.erase(found);
  return before;
}

void CommRegistry::retire(std::shared_ptr<CommState> ended) {
  const std::unique_lock lock(mutex_);
  retired_.push_back(std::move(ended));
}

void CommRegistry::release_idle() {
  std::vector<std::shared_ptr<CommState>> all;  // without the lock: others only look for theirs
  {
    const std::unique_lock lock(mutex_);
    all = std::exchange(retired_, {});
  }
  // Ranks of one process wait for each other here: one's step may be what another one's needed.
  for (int steps = 0; steps < 3; ++steps) std::erase_if(all, [](const auto& each) { return each->can_release(); });
  const std::unique_lock lock(mutex_);
  retired_.insert(retired_.end(), std::make_move_iterator(all.begin()), std::make_move_iterator(all.end()));
}

}  // namespace sennit::shim::nccl
