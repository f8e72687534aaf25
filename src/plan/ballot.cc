#include "plan/ballot.h"

#include <algorithm>
#include <bit>
#include <thread>

namespace sennit::plan {

// Words of a sample: the call's number in the upper half, its time as a float in the lower one, so that both come
// together. kChange is odd while a change is under way.

std::optional<Change> Ballot::call(const std::function<bool()>& gave_up) {
  ++calls_;
  word(rank_, kCalls).store(calls_);
  std::uint64_t change = word(0, kChange).load();
  if (change != seen_) {
    while (change % 2 == 1) {
      if (gave_up()) return std::nullopt;
      std::this_thread::yield();
      change = word(0, kChange).load();
    }
    // Rank 0 writes them again only when every rank has passed kFrom, and this call is kFrom at most.
    pending_ = Change{word(0, kKey).load(), word(0, kValue).load()};
    from_ = word(0, kFrom).load();
    seen_ = change;
  }
  if (!pending_ || calls_ < from_) return std::nullopt;
  return std::exchange(pending_, std::nullopt);
}

bool Ballot::propose(const Change& change) {
  const std::uint64_t last = word(0, kChange).load();
  const std::uint64_t from = word(0, kFrom).load();
  // A rank that has published the call from which the last applies may not have read it yet.
  for (std::size_t rank = 0; rank < words_.size() && from != 0; ++rank)
    if (word(static_cast<int>(rank), kCalls).load() <= from) return false;
  word(0, kChange).store(last + 1);
  std::uint64_t furthest = 0;
  for (std::size_t rank = 0; rank < words_.size(); ++rank)
    furthest = std::max(furthest, word(static_cast<int>(rank), kCalls).load());
  word(0, kKey).store(change.key);
  word(0, kValue).store(change.value);
  word(0, kFrom).store(furthest + 1);
  word(0, kChange).store(last + 2);
  return true;
}

void Ballot::sample(std::uint64_t call, double us) {
  auto& samples = words_[static_cast<std::size_t>(rank_)].samples->words;
  samples[place(call)].store(call << 32 | std::bit_cast<std::uint32_t>(static_cast<float>(us)));
}

std::optional<double> Ballot::fastest(std::uint64_t call) const {
  std::optional<double> least;
  for (const Words& each : words_) {
    const std::uint64_t found = each.samples->words[place(call)].load();
    if (found >> 32 != (call & 0xFFFFFFFF)) return std::nullopt;
    const double us = std::bit_cast<float>(static_cast<std::uint32_t>(found));
    least = least ? std::min(*least, us) : us;
  }
  return least;
}

}  // namespace sennit::plan
