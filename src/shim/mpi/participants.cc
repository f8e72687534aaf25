#include "shim/mpi/participants.h"

#include <algorithm>
#include <mutex>

namespace sennit::shim::mpi {

namespace {

/// In names, so that threads which make several calls at once mix up few.
constexpr std::uint64_t kOfGroup = std::uint64_t{1} << 63, kOfFile = std::uint64_t{1} << 62,
                        kOfWindow = std::uint64_t{1} << 61;

}  // namespace

std::uint64_t name_of(std::span<const int> ranks) {
  std::uint64_t name = 1;
  for (const int rank : ranks)  // FNV-1a, a rank at a time
    name = (name ^ static_cast<std::uint32_t>(rank)) * 0x100000001b3;
  return name;
}

std::optional<Participants> AllParticipants::make(std::vector<int> ranks, std::uint64_t salt) const {
  std::ranges::sort(ranks);
  if (ranks.empty() || ranks.front() < 0) return std::nullopt;
  Participants all{name_of(ranks) ^ salt, std::move(ranks)};
  std::erase(all.others, rank_);
  return all;
}

std::optional<Participants> AllParticipants::of(Handle comm) const {
  std::vector<int> ranks;
  if (comm == mpi_.comm_null() || mpi_.all_world_ranks(comm, ranks) != 0) return std::nullopt;
  return make(std::move(ranks), 0);
}

std::optional<Participants> AllParticipants::of(Handle group, int tag) const {
  std::vector<int> ranks;
  if (mpi_.world_ranks_of_group(group, ranks) != 0) return std::nullopt;
  return make(std::move(ranks), kOfGroup | std::uint32_t(tag));
}

std::shared_ptr<const Participants> AllParticipants::of(Shared kind, Handle handle) {
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = shared_.find({kind, handle}); found != shared_.end()) return found->second;
  }
  std::vector<int> ranks;
  std::shared_ptr<const Participants> made;
  if (mpi_.world_ranks_of(kind, handle, ranks) == 0)
    if (auto all = make(std::move(ranks), kind == Shared::file ? kOfFile : kOfWindow))
      made = std::make_shared<const Participants>(std::move(*all));
  const std::unique_lock lock(mutex_);
  return shared_[{kind, handle}] = made;
}

void AllParticipants::forget(Shared kind, Handle handle) {
  const std::unique_lock lock(mutex_);
  shared_.erase({kind, handle});
}

}  // namespace sennit::shim::mpi
