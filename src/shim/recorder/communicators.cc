#include "shim/recorder/communicators.h"

#include <algorithm>

namespace sennit::shim::recorder {

std::uint64_t hash_of(const void* data, std::size_t bytes, std::uint64_t seed) {
  const auto* const at = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < bytes; ++i) seed = (seed ^ at[i]) * 0x100000001b3u;
  return seed;
}

KnownCommunicator& KnownCommunicators::put(profile::Recorder& recorder, Handle handle,
                                           const profile::Communicator& made) {
  KnownCommunicator& known = all_.emplace_back();
  known.index = recorder.communicator(made);
  known.id = made.id;
  known_[handle] = &known;
  changes_.fetch_add(1, std::memory_order_release);
  return known;
}

KnownCommunicator& KnownCommunicators::add(profile::Recorder& recorder, Handle handle, const mpi::CommShape& shape,
                                           std::vector<int> members, std::vector<int> world_ranks,
                                           std::string_view name) {
  std::ranges::sort(members);
  const std::uint64_t of_members = hash_of(members.data(), members.size() * sizeof(int));
  const std::lock_guard lock(mutex_);
  const std::uint32_t number = made_[of_members]++;
  profile::Communicator made{};
  made.id = hash_of(&number, sizeof number, of_members);
  made.size = static_cast<std::uint32_t>(members.size());
  made.rank = static_cast<std::uint32_t>(shape.rank);
  profile::set(made.name, name);
  KnownCommunicator& known = put(recorder, handle, made);
  known.shape = shape;
  known.own_rank = shape.rank;
  known.world_ranks = std::move(world_ranks);
  return known;
}

KnownCommunicator& KnownCommunicators::add(profile::Recorder& recorder, Handle handle,
                                           const profile::Communicator& made, int rank) {
  const std::lock_guard lock(mutex_);
  KnownCommunicator& known = put(recorder, handle, made);
  known.own_rank = rank;
  return known;
}

KnownCommunicator* KnownCommunicators::find(Handle handle) {
  struct Last {
    const KnownCommunicators* of = nullptr;
    std::uint64_t changes = 0;
    Handle handle = 0;
    KnownCommunicator* found = nullptr;
  };
  thread_local Last last;
  const std::uint64_t changes = changes_.load(std::memory_order_acquire);
  if (last.of == this && last.changes == changes && last.handle == handle) return last.found;
  const std::lock_guard lock(mutex_);
  const auto at = known_.find(handle);
  last = {this, changes, handle, at == known_.end() ? nullptr : at->second};
  return last.found;
}

void KnownCommunicators::forget(Handle handle) {
  const std::lock_guard lock(mutex_);
  if (known_.erase(handle) != 0) changes_.fetch_add(1, std::memory_order_release);
}

}  // namespace sennit::shim::recorder
