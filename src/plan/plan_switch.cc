#include "plan/plan_switch.h"

#include <algorithm>
#include <bit>
#include <thread>
#include <utility>

namespace sennit::plan {

// Words of a sample: the call's number in the upper half, its time as a float in the lower one, so that both come
// together.

std::optional<Change> PlanSwitch::call(const std::function<bool()>& gave_up) {
  ++calls_;
  state(static_cast<std::size_t>(rank_)).calls.store(calls_);
  std::uint64_t change = leader().change.load();
  if (change != seen_) {
    while (change % 2 == 1) {
      if (gave_up()) return std::nullopt;
      std::this_thread::yield();
      change = leader().change.load();
    }
    // Rank 0 writes them again only when every rank has passed `from`, and this call is `from` at most.
    pending_ = Change{leader().key.load(), leader().value.load()};
    from_ = leader().from.load();
    seen_ = change;
  }
  if (!pending_ || calls_ < from_) return std::nullopt;
  return std::exchange(pending_, std::nullopt);
}

bool PlanSwitch::propose(const Change& change) {
  const std::uint64_t last = leader().change.load();
  const std::uint64_t from = leader().from.load();
  // A rank that has published the call from which the last applies may not have read it yet.
  for (std::size_t rank = 0; rank < words_.size() && from != 0; ++rank)
    if (state(rank).calls.load() <= from) return false;
  leader().change.store(last + 1);
  std::uint64_t furthest = 0;
  for (std::size_t rank = 0; rank < words_.size(); ++rank) furthest = std::max(furthest, state(rank).calls.load());
  leader().key.store(change.key);
  leader().value.store(change.value);
  leader().from.store(furthest + 1);
  leader().change.store(last + 2);
  return true;
}

void PlanSwitch::sample(std::uint64_t call, double us) {
  auto& samples = words_[static_cast<std::size_t>(rank_)].samples->latest;
  samples[place(call)].store(call << 32 | std::bit_cast<std::uint32_t>(static_cast<float>(us)));
}

std::optional<double> PlanSwitch::fastest(std::uint64_t call) const {
  std::optional<double> least;
  for (const Words& each : words_) {
    const std::uint64_t found = each.samples->latest[place(call)].load();
    if (found >> 32 != (call & 0xFFFFFFFF)) return std::nullopt;
    const double us = std::bit_cast<float>(static_cast<std::uint32_t>(found));
    least = least ? std::min(*least, us) : us;
  }
  return least;
}

}  // namespace sennit::plan
