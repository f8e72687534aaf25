#include "shim/mpi/comm/peer_query.h"

#include <algorithm>
#include <array>
#include <limits>

namespace sennit::shim::mpi {

namespace {

/// Begins such control messages: no other message between processes begins so (control_exchange.cc, node_vote.cc).
constexpr std::uint64_t kQuestion = 0x7175'6573'7469'6f6e;

enum class Asked : std::uint64_t {
  listens,
  listening,
  not_yet,
  announced,
  announcing,
  nothing,
  came,
  has_come,
  arrived,
  has_arrived
};

/// Between two looks whether the asked rank lives so much time passes: a default.
constexpr std::chrono::milliseconds kLookAtRanks(20);

/// A rank is asked again after so long whether it has come, and at most so long after. Defaults: somewhat longer than
/// an answer takes, and too short to be noticed.
constexpr std::chrono::microseconds kFirstAsking(200), kMostAsking(5000);

/// Names that have ended and are still answered for. A default: some MPIs let a rank go on from where a file or a
/// window ends before others have come, but hardly for so many.
constexpr std::size_t kMostEnded = 1024;

constexpr std::size_t kMostNumbers = 6;

/// Returns how many numbers follow in such a message.
constexpr std::size_t numbers_of(Asked what) {
  switch (what) {
    case Asked::listens:
    case Asked::listening:
    case Asked::not_yet: return 0;
    case Asked::nothing: return 1;
    case Asked::announced:
    case Asked::came:
    case Asked::has_come:
    case Asked::arrived:
    case Asked::has_arrived: return 2;
    case Asked::announcing: break;
  }
  return kMostNumbers;
}

comm::Writer question_word(Asked what) {
  comm::Writer writer;
  writer.number(kQuestion).number(static_cast<std::uint64_t>(what));
  return writer;
}

}  // namespace

// ---- who listens --------------------------------------------------------------------------------------------------

bool PeerQuery::may_tell(int rank) {
  if (!listening_ || silent_ != 0) {
    waiting_.insert(rank);
    return false;
  }
  waiting_.erase(rank);
  told_.insert(rank);
  return true;
}

void PeerQuery::tell_all_who_asked() {
  for (const int rank : std::set<int>(waiting_))
    if (may_tell(rank)) send_(rank, question_word(Asked::listening).take());
}

void PeerQuery::listen() {
  const std::lock_guard lock(mutex_);
  listening_ = true;
  tell_all_who_asked();
}

void PeerQuery::be_silent() {
  const std::lock_guard lock(mutex_);
  ++silent_;
}

void PeerQuery::speak() {
  const std::lock_guard lock(mutex_);
  --silent_;
  tell_all_who_asked();
}

bool PeerQuery::listens(int rank, Clock::duration patience) {
  std::unique_lock lock(mutex_);
  const auto known = said_.find(rank);
  if (known != said_.end() && known->second != Said::nothing) return known->second == Said::yes;
  if (known == said_.end()) {
    said_[rank] = Said::nothing;
    send_(rank, question_word(Asked::listens).take());
    came_.wait_for(lock, patience, [&] { return said_[rank] != Said::nothing; });
  }
  return said_[rank] == Said::yes;
}

std::vector<int> PeerQuery::announcers() const {
  const std::lock_guard lock(mutex_);
  return {told_.begin(), told_.end()};
}

// ---- what is announced --------------------------------------------------------------------------------------------

void PeerQuery::announce(int slot, const std::optional<msg::Announced>& what) {
  const std::lock_guard lock(mutex_);
  if (what)
    announced_[slot] = *what;
  else
    announced_.erase(slot);
}

std::optional<msg::Announced> PeerQuery::announced(int rank, int slot) {
  std::unique_lock lock(mutex_);
  if (!told_.contains(rank)) return std::nullopt;
  const std::uint64_t question = ++asked_;
  send_(rank, question_word(Asked::announced).number(question).number(static_cast<std::uint64_t>(slot)).take());
  while (!answers_.contains(question)) {
    came_.wait_for(lock, kLookAtRanks);
    if (!check_(rank).ok()) return std::nullopt;
  }
  auto answer = answers_.extract(question);
  return answer.mapped();
}

// ---- who has come -------------------------------------------------------------------------------------------------

void PeerQuery::join(std::uint64_t key, const CollectiveVote& vote) {
  const std::lock_guard lock(mutex_);
  votes_[key] = &vote;
}

void PeerQuery::leave(std::uint64_t key) {
  const std::lock_guard lock(mutex_);
  votes_.erase(key);
  arrivals_.erase(arrivals_.lower_bound({key, 0}), arrivals_.lower_bound({key + 1, 0}));
}

void PeerQuery::leave_all() {
  const std::lock_guard lock(mutex_);
  votes_.clear();
}

bool PeerQuery::came(int rank, std::uint64_t key, std::uint64_t number, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  const auto [at, first] = arrivals_.try_emplace({key, rank});
  Arrival& arrival = at->second;
  if (arrival.number >= number) return true;
  if (now < arrival.ask_at) return false;
  const bool in_vain = arrival.ask_at != Clock::time_point();
  arrival.patience = in_vain ? std::min<Clock::duration>(2 * arrival.patience, kMostAsking) : kFirstAsking;
  arrival.ask_at = now + arrival.patience;
  send_(rank, question_word(Asked::came).number(key).number(number).take());
  return false;
}

std::uint64_t PeerQuery::arrive(std::uint64_t name) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t number = ++calls_[name];
  if (const auto found = asking_.find(name); found != asking_.end()) {
    std::erase_if(found->second, [&](const auto& asking) {
      const auto& [rank, from] = asking;
      if (from <= number) send_(rank, question_word(Asked::has_arrived).number(name).number(number).take());
      return from <= number;
    });
    if (found->second.empty()) asking_.erase(found);
  }
  return number;
}

bool PeerQuery::arrived(int rank, std::uint64_t name, std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  Reached& reached = reached_[{name, rank}];
  if (reached.number >= number) return true;
  if (reached.asked < number) {
    reached.asked = number;
    send_(rank, question_word(Asked::arrived).number(name).number(number).take());
  }
  return false;
}

void PeerQuery::end(std::uint64_t name) {
  const std::lock_guard lock(mutex_);
  reached_.erase(reached_.lower_bound({name, 0}), reached_.upper_bound({name, std::numeric_limits<int>::max()}));
  if (!calls_.contains(name)) return;
  ended_.push_back(name);
  if (ended_.size() <= kMostEnded) return;
  calls_.erase(ended_.front());
  ended_.pop_front();
}

// ---- words --------------------------------------------------------------------------------------------------------

bool PeerQuery::on_message(int from, const comm::Bytes& heard) {
  comm::Reader reader(heard);
  if (reader.number() != kQuestion) return false;
  const auto what = static_cast<Asked>(reader.number());
  std::array<std::uint64_t, kMostNumbers> numbers{};
  const std::size_t count = numbers_of(what);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = reader.number();
  if (!reader.finish().ok()) return true;
  const std::lock_guard lock(mutex_);
  on_message(from, static_cast<std::uint64_t>(what), numbers);
  came_.notify_all();
  return true;
}

void PeerQuery::on_message(int from, std::uint64_t what, std::span<const std::uint64_t> numbers) {
  switch (static_cast<Asked>(what)) {
    case Asked::listens: send_(from, question_word(may_tell(from) ? Asked::listening : Asked::not_yet).take()); break;
    case Asked::listening: said_[from] = Said::yes; break;
    case Asked::not_yet:
      if (said_[from] != Said::yes) said_[from] = Said::later;
      break;
    case Asked::announced:
      if (const auto found = announced_.find(static_cast<int>(numbers[1])); found != announced_.end()) {
        const msg::Announced& one = found->second;
        send_(from, question_word(Asked::announcing)
                        .number(numbers[0])
                        .number(one.number)
                        .number(one.bytes)
                        .number(one.members)
                        .number(static_cast<std::uint32_t>(one.dest))
                        .number(static_cast<std::uint32_t>(one.tag))
                        .take());
      } else {
        send_(from, question_word(Asked::nothing).number(numbers[0]).take());
      }
      break;
    case Asked::announcing:
      answers_[numbers[0]] =
          msg::Announced{numbers[1], numbers[2], numbers[3], static_cast<int>(static_cast<std::uint32_t>(numbers[4])),
                         static_cast<int>(static_cast<std::uint32_t>(numbers[5]))};
      break;
    case Asked::nothing: answers_[numbers[0]] = std::nullopt; break;
    case Asked::came:
      if (const auto found = votes_.find(numbers[0]); found != votes_.end() && found->second->came(numbers[1]))
        send_(from, question_word(Asked::has_come).number(numbers[0]).number(numbers[1]).take());
      break;
    case Asked::has_come:
      if (const auto found = arrivals_.find({numbers[0], from});
          found != arrivals_.end() && numbers[1] > found->second.number)
        found->second = {numbers[1], Clock::time_point(), {}};
      break;
    case Asked::arrived:
      if (const std::uint64_t here = calls_[numbers[0]]; here >= numbers[1])
        send_(from, question_word(Asked::has_arrived).number(numbers[0]).number(here).take());
      else
        asking_[numbers[0]].emplace_back(from, numbers[1]);
      break;
    case Asked::has_arrived: {
      const auto found = reached_.find({numbers[0], from});
      if (found != reached_.end()) found->second.number = std::max(found->second.number, numbers[1]);
      break;
    }
  }
}

}  // namespace sennit::shim::mpi
