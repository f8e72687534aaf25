#include "shim/mpi/comm/call_scope.h"

#include <algorithm>
#include <mutex>

namespace sennit::shim::mpi {

namespace {

/// These bits stand in names, so that threads which make several calls at once mix up few.
constexpr std::uint64_t kOfGroup = std::uint64_t{1} << 63, kOfFile = std::uint64_t{1} << 62,
                        kOfWindow = std::uint64_t{1} << 61;

/// Does the end of splitmix64: numbers that are alike become ones that are not.
std::uint64_t mix(std::uint64_t number) {
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
  number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
  return number ^ (number >> 31);
}

}  // namespace

std::uint64_t name_of(std::span<const int> ranks) {
  std::uint64_t name = 1;
  for (const int rank : ranks)  // FNV-1a, a rank at a time
    name = (name ^ static_cast<std::uint32_t>(rank)) * 0x100000001b3;
  return name;
}

std::optional<CallScope> CallScopes::make(std::vector<int> ranks, std::uint64_t salt) const {
  const bool whole = std::erase_if(ranks, [](int rank) { return rank < 0; }) == 0;
  std::ranges::sort(ranks);
  if (ranks.empty()) return std::nullopt;
  CallScope all{name_of(ranks) ^ salt, std::move(ranks), whole};
  std::erase(all.others, rank_);
  return all;
}

std::optional<CallScope> CallScopes::of(Handle comm) const {
  std::vector<int> ranks;
  if (comm == mpi_.comm_null() || mpi_.all_world_ranks(comm, ranks) != 0) return std::nullopt;
  return make(std::move(ranks), 0);
}

std::optional<CallScope> CallScopes::of(Handle group, int tag) const {
  std::vector<int> ranks;
  if (mpi_.world_ranks_of_group(group, ranks) != 0) return std::nullopt;
  return make(std::move(ranks), kOfGroup | std::uint32_t(tag));
}

std::shared_ptr<const CallScope> CallScopes::ask(Shared kind, Handle handle, std::optional<std::uint64_t> own) const {
  std::vector<int> ranks;
  if (mpi_.world_ranks_of(kind, handle, ranks) != 0) return nullptr;
  auto all = make(std::move(ranks), kind == Shared::file ? kOfFile : kOfWindow);
  if (!all) return nullptr;
  if (own) all->name = *own;
  return std::make_shared<const CallScope>(std::move(*all));
}

std::shared_ptr<const CallScope> CallScopes::of(Shared kind, Handle handle) {
  std::optional<std::uint64_t> own;
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = shared_.find({kind, handle}); found != shared_.end()) {
      if (found->second.scope) return *found->second.scope;
      own = found->second.name;
    }
  }
  auto made = ask(kind, handle, own);
  const std::unique_lock lock(mutex_);
  shared_[{kind, handle}] = {own, made};
  return made;
}

void CallScopes::name(Shared kind, Handle handle, std::uint64_t key, std::uint64_t number) {
  const std::unique_lock lock(mutex_);
  shared_[{kind, handle}] = {mix(mix(key) + number), std::nullopt};
}

std::optional<std::uint64_t> CallScopes::forget(Shared kind, Handle handle) {
  const std::unique_lock lock(mutex_);
  const auto forgotten = shared_.extract({kind, handle});
  return forgotten.empty() ? std::nullopt : forgotten.mapped().name;
}

}  // namespace sennit::shim::mpi
