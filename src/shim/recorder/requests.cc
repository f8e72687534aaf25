#include "shim/recorder/requests.h"

#include <utility>

namespace sennit::shim::recorder {

OpenRequests::Entry* OpenRequests::find(Shard& shard, Handle request) {
  if (shard.used == 0) return nullptr;
  const std::size_t last = shard.entries.size() - 1;
  for (std::size_t at = place_of(shard, request); shard.entries[at].used; at = (at + 1) & last)
    if (shard.entries[at].request == request) return &shard.entries[at];
  return nullptr;
}

bool OpenRequests::put(Shard& shard, Handle request, const Operation& operation) {
  const std::size_t last = shard.entries.size() - 1;
  std::size_t at = place_of(shard, request);
  bool met = false;
  for (; shard.entries[at].used; at = (at + 1) & last) met = met || shard.entries[at].request == request;
  shard.entries[at] = {request, operation, true};
  ++shard.used;
  return met;
}

/// Moves those behind up that could be found no more, in their order.
void OpenRequests::erase(Shard& shard, Entry& entry) {
  const std::size_t last = shard.entries.size() - 1;
  auto hole = static_cast<std::size_t>(&entry - shard.entries.data());
  for (std::size_t at = (hole + 1) & last; shard.entries[at].used; at = (at + 1) & last) {
    const std::size_t home = place_of(shard, shard.entries[at].request);
    if (((at - home) & last) < ((at - hole) & last)) continue;  // its home lies behind the hole
    shard.entries[hole] = shard.entries[at];
    hole = at;
  }
  shard.entries[hole] = Entry();
  --shard.used;
}

bool OpenRequests::add(Handle request, const Operation& begun) {
  Shard& shard = shard_of(request);
  const std::lock_guard lock(shard.mutex);
  if (shard.used >= kMost) {
    shard.entries.clear();
    shard.used = 0;
  }
  if (2 * (shard.used + 1) > shard.entries.size()) {
    // From the first one whose place before it is free, so that equal handles keep their order.
    std::vector<Entry> before =
        std::exchange(shard.entries, std::vector<Entry>(std::max<std::size_t>(64, 4 * shard.used)));
    shard.used = 0;
    std::size_t first = 0;
    while (first < before.size() && before[first].used) ++first;
    for (std::size_t i = 0; i < before.size(); ++i)
      if (const Entry& one = before[(first + i) % before.size()]; one.used)
        (void)put(shard, one.request, one.operation);
  }
  return put(shard, request, begun);
}

std::vector<Operation> OpenRequests::end_unseen(Handle request) {
  Shard& shard = shard_of(request);
  std::vector<Operation> ended;
  const std::lock_guard lock(shard.mutex);
  std::size_t open = 0;
  for (const Entry& one : shard.entries) open += one.used && one.request == request ? 1 : 0;
  for (; open > 1; --open) {
    Entry* const oldest = find(shard, request);
    ended.push_back(oldest->operation);
    erase(shard, *oldest);
  }
  return ended;
}

std::optional<Operation> OpenRequests::start(Handle request, std::uint64_t now) {
  Shard& shard = shard_of(request);
  const std::lock_guard lock(shard.mutex);
  Entry* const entry = find(shard, request);
  if (entry == nullptr || !entry->operation.persistent) return std::nullopt;
  entry->operation.begun = now;
  entry->operation.cancelled = false;
  return entry->operation;
}

std::optional<Operation> OpenRequests::end(Handle request) {
  Shard& shard = shard_of(request);
  const std::lock_guard lock(shard.mutex);
  Entry* const entry = find(shard, request);
  if (entry == nullptr) return std::nullopt;
  const Operation ended = entry->operation;
  if (ended.persistent)
    entry->operation.begun = 0;
  else
    erase(shard, *entry);
  return ended.begun != 0 ? std::optional(ended) : std::nullopt;
}

void OpenRequests::forget(Handle request) {
  Shard& shard = shard_of(request);
  const std::lock_guard lock(shard.mutex);
  if (Entry* const entry = find(shard, request)) erase(shard, *entry);
}

void OpenRequests::cancel(Handle request) {
  Shard& shard = shard_of(request);
  const std::lock_guard lock(shard.mutex);
  if (Entry* const entry = find(shard, request)) entry->operation.cancelled = true;
}

std::size_t OpenRequests::size() const {
  std::size_t all = 0;
  for (const Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    all += shard.used;
  }
  return all;
}

}  // namespace sennit::shim::recorder
