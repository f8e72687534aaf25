#include "shim/mpi/comm/node_vote.h"

#include <algorithm>
#include <utility>

namespace sennit::shim::mpi {

namespace {

enum class Word : std::uint64_t { offered, refused, ask };

/// A leader waits so long before it asks for a node's message, and at most so long between two questions. Defaults:
/// far longer than a message takes, and too short to be noticed.
constexpr std::chrono::milliseconds kFirstPatience(1), kMostPatience(64);

comm::Bytes word(Word what, std::uint64_t key, std::uint64_t number, std::uint32_t signature = 0) {
  return comm::Writer().number(static_cast<std::uint64_t>(what)).number(key).number(number).number(signature).take();
}

}  // namespace

void NodeVote::join(std::uint64_t key, const CollectiveVote& vote, std::vector<int> others) {
  const std::lock_guard lock(mutex_);
  One& one = all_[key];
  one.vote = &vote;
  one.others = std::move(others);
}

void NodeVote::leave(std::uint64_t key) {
  const std::lock_guard lock(mutex_);
  all_.erase(key);
}

void NodeVote::leave_all() {
  const std::lock_guard lock(mutex_);
  all_.clear();
}

std::size_t NodeVote::joined() const {
  const std::lock_guard lock(mutex_);
  return all_.size();
}

void NodeVote::vote_yes(std::uint64_t key, std::uint64_t number, std::uint32_t signature) {
  const std::lock_guard lock(mutex_);
  One& one = all_[key];
  one.signature = signature;
  one.patience = kFirstPatience;
  one.ask_at = Clock::now() + one.patience;
  for (const int other : one.others) send_(other, word(Word::offered, key, number, signature));
}

std::optional<bool> NodeVote::outcome(std::uint64_t key, std::uint64_t number, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  One& one = all_[key];
  std::vector<int> missing;
  bool all = true;
  for (const int other : one.others) {
    const One::Said& said = one.said[other];
    if (said.offered == number || said.offered_before == number) {
      all = all && (said.offered == number ? said.signature : said.signature_before) == one.signature;
      continue;
    }
    // One that offers a later call has left this one to the real function.
    if (said.refused == number || said.offered > number)
      all = false;
    else
      missing.push_back(other);
  }
  if (missing.empty()) return all;
  if (now >= one.ask_at) {
    for (const int other : missing) send_(other, word(Word::ask, key, number));
    one.patience = std::min<Clock::duration>(2 * one.patience, kMostPatience);
    one.ask_at = now + one.patience;
  }
  return std::nullopt;
}

void NodeVote::on_message(int from, const comm::Bytes& heard) {
  comm::Reader reader(heard);
  const auto what = static_cast<Word>(reader.number());
  const auto key = reader.number(), number = reader.number(), signature = reader.number();
  if (!reader.finish().ok()) return;
  const std::lock_guard lock(mutex_);
  if (what == Word::ask) {
    // A node that offers says so by itself, one that does not know yet will be asked again.
    const auto found = all_.find(key);
    if (found != all_.end() && found->second.vote != nullptr && found->second.vote->outcome(number) == false)
      send_(from, word(Word::refused, key, number));
    return;
  }
  if (what == Word::refused) {
    // The answer is to a question of this node's; another answer may have come before, and this node may have left
    // since.
    if (const auto found = all_.find(key); found != all_.end()) found->second.said[from].refused = number;
    return;
  }
  if (what != Word::offered) return;
  One::Said& said = all_[key].said[from];
  said.offered_before = std::exchange(said.offered, number);
  said.signature_before = std::exchange(said.signature, static_cast<std::uint32_t>(signature));
}

}  // namespace sennit::shim::mpi
