#include "plan/lookup.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include "coll/candidates.h"
#include "plan/figures.h"

namespace sennit::plan {

namespace {

double octaves(std::uint64_t a, std::uint64_t b) {
  return std::abs(std::log2(static_cast<double>(std::max<std::uint64_t>(a, 1)) /
                            static_cast<double>(std::max<std::uint64_t>(b, 1))));
}

/// A default: what took so few bytes took its time for meeting, and so do fewer.
constexpr std::uint64_t kOnlyMeets = 4 << 10;

}  // namespace

Lookup::Lookup(const Table& table, const Layout& layout, const machine::Machine& machine, const Room& room) {
  const bool has_own = std::ranges::any_of(table.entries, [&](const Entry& each) { return each.layout == layout; });
  Layout taken = layout;
  if (!has_own) {
    const auto like =
        std::ranges::find_if(table.entries, [&](const Entry& each) { return alike(machine, layout, each.layout); });
    if (like == table.entries.end()) return;
    taken = like->layout;
  }
  // A table's own order is by bytes within a kind.
  for (Entry entry : table.entries) {
    if (entry.layout != taken) continue;
    const unsigned most = room.of(entry.which.operation);
    std::erase_if(entry.plans, [&](const Timed& timed) { return !coll::fits(timed.plan, most); });
    entries_[kind_of(entry.which)].push_back(std::move(entry));
  }
}

std::vector<Entry> Lookup::near(const coll::CallKey& which) const {
  const auto kind = entries_.find(kind_of(which));
  if (kind == entries_.end()) return {};
  std::vector<Entry> near = kind->second;
  std::ranges::stable_sort(near, {}, [&](const Entry& entry) { return octaves(entry.which.bytes, which.bytes); });
  const auto is_far = [&](const Entry& entry) {
    const bool below_all = which.bytes < kind->second.front().which.bytes && entry.which.bytes <= kOnlyMeets;
    return octaves(entry.which.bytes, which.bytes) > 2 && !below_all;
  };
  near.erase(std::ranges::find_if(near, is_far), near.end());
  return near;
}

std::optional<Entry> Lookup::find(const coll::CallKey& which, const coll::Team& team) const {
  std::vector<Entry> near = this->near(which);
  const auto admits = [&](const Timed& timed) {
    return coll::most_bytes(which.operation, timed.plan, team) >= which.bytes;
  };
  for (const bool any : {false, true})
    for (Entry& entry : near) {
      if (entry.plans.empty()) break;  // what a size takes says little of another one's plans
      if (!any && !admits(entry.plans.front())) continue;
      std::erase_if(entry.plans, std::not_fn(admits));
      if (!entry.plans.empty()) return std::move(entry);
    }
  return std::nullopt;
}

std::vector<Entry> Lookup::around(const coll::CallKey& which, const coll::Team& team) const {
  std::vector<Entry> found;
  if (auto nearest = find(which, team)) {
    found.push_back(*std::move(nearest));
  } else {
    found = near(which);
    if (found.size() > 1) found.resize(1);
    for (Entry& entry : found) entry.plans.clear();
    return found;
  }
  if (found.front().which.bytes == which.bytes) return found;
  const std::vector<Entry>& sizes = entries_.at(kind_of(which));
  const auto above =
      std::ranges::upper_bound(sizes, which.bytes, {}, [](const Entry& each) { return each.which.bytes; });
  if (above != sizes.begin()) found.push_back(*std::prev(above));
  if (above != sizes.end()) found.push_back(*above);
  return found;
}

}  // namespace sennit::plan
