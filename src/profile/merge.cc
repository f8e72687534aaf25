#include "profile/merge.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "profile/host_clocks.h"

namespace sennit::profile {

namespace {

constexpr double kSecond = 1e9, kMicrosecond = 1e3;  // in ns

Status check(std::vector<Rank>& ranks) {
  if (ranks.empty())
    return Status(Code::invalid_argument, "there is no process's file", {},
                  "Name the folder that sennit profile wrote");
  std::ranges::stable_sort(ranks, {}, [](const Rank& one) { return std::pair(one.rank, one.process); });
  for (std::size_t i = 1; i < ranks.size(); ++i) {
    const Rank &one = ranks[i - 1], &next = ranks[i];
    if (one.rank >= 0 && one.rank == next.rank)
      return Status(Code::corrupt, fmt::format("two files are of rank {}", one.rank),
                    one.origin + " and " + next.origin, "Use a folder of one run");
    if (one.rank >= 0 && one.ranks != next.ranks)
      return Status(Code::corrupt,
                    fmt::format("one file is of a job of {} ranks, another one of {}", one.ranks, next.ranks),
                    one.origin + " and " + next.origin, "Use a folder of one run");
  }
  return {};
}

/// Calls with equal keys are one row.
using RowKey =
    std::tuple<std::string, std::uint32_t, std::uint8_t, Memory, Memory, std::string, std::string, std::string>;

RowKey key_of(const Rank& rank, const Class& of) {
  if (of.bin == kUnknownBin) return {rank.functions[of.function], 0, of.bin, {}, {}, {}, {}, {}};
  return {rank.functions[of.function],
          rank.communicators[of.communicator].size,
          of.bin,
          of.memory_in,
          of.memory_out,
          rank.reductions[of.reduction],
          rank.phases[of.phase],
          rank.hows[of.how]};
}

std::vector<Row> rows_of(const std::vector<Rank>& ranks) {
  std::map<RowKey, Row> rows;
  for (const Rank& rank : ranks) {
    std::map<RowKey, double> seconds;
    for (const Sums& sums : rank.sums) {
      const RowKey key = key_of(rank, sums.of);
      const auto [at, is_new] = rows.try_emplace(key);
      Row& row = at->second;
      if (is_new)
        std::tie(row.function, row.communicator_size, row.bin, row.memory_in, row.memory_out, row.reduction,
                 row.phase, row.how) = key;
      const double least_us = static_cast<double>(sums.least_ns) / kMicrosecond;
      if (sums.calls != 0) row.least_us = row.calls == 0 ? least_us : std::min(row.least_us, least_us);
      row.most_us = std::max(row.most_us, static_cast<double>(sums.most_ns) / kMicrosecond);
      row.calls += sums.calls;
      row.bytes_in += sums.bytes_in;
      row.bytes_out += sums.bytes_out;
      row.at_once += sums.at_once;
      row.device_calls += sums.device_calls;
      row.device_seconds += static_cast<double>(sums.device_ns) / kSecond;
      row.requests += sums.requests;
      row.flight_seconds += static_cast<double>(sums.flight_ns) / kSecond;
      row.waited_seconds += static_cast<double>(sums.waited_ns) / kSecond;
      row.received += sums.received;
      row.misses += sums.misses;
      row.missed_seconds += static_cast<double>(sums.missed_ns) / kSecond;
      row.unseen += sums.unseen;
      row.captured += sums.captured;
      row.replayed += sums.replayed;
      row.replayed_bytes += sums.replayed_bytes;
      if (sums.calls != 0) seconds[key] += static_cast<double>(sums.ns) / kSecond;
    }
    for (const auto& [key, took] : seconds) {
      Row& row = rows[key];
      row.rank_seconds.least = row.processes == 0 ? took : std::min(row.rank_seconds.least, took);
      row.rank_seconds.most = std::max(row.rank_seconds.most, took);
      row.seconds += took;
      ++row.processes;
    }
  }
  std::vector<Row> all;
  for (auto& [key, row] : rows) {
    if (row.processes < ranks.size()) row.rank_seconds.least = 0;
    row.rank_seconds.mean = row.seconds / static_cast<double>(ranks.size());
    all.push_back(std::move(row));
  }
  std::ranges::stable_sort(all, std::greater<>(), &Row::seconds);
  return all;
}

std::vector<Polls> polls_of(const std::vector<Rank>& ranks) {
  std::map<std::string, Polls> polls;
  for (const Rank& rank : ranks)
    for (const Sums& sums : rank.sums)
      if (sums.misses != 0) polls[rank.functions[sums.of.function]];
  for (auto& [function, all] : polls) {
    all.function = function;
    all.rank_missed_seconds.least = std::numeric_limits<double>::max();
    for (const Rank& rank : ranks) {
      double missed = 0;
      for (const Sums& sums : rank.sums) {
        if (rank.functions[sums.of.function] != function) continue;
        all.calls += sums.calls;
        all.misses += sums.misses;
        all.seconds += static_cast<double>(sums.ns) / kSecond;
        missed += static_cast<double>(sums.missed_ns) / kSecond;
      }
      Spread& spread = all.rank_missed_seconds;
      spread.least = std::min(spread.least, missed);
      spread.most = std::max(spread.most, missed);
      spread.mean += missed / static_cast<double>(ranks.size());
      all.missed_seconds += missed;
    }
  }
  std::vector<Polls> all;
  for (auto& [function, each] : polls) all.push_back(std::move(each));
  std::ranges::stable_sort(all, std::greater<>(), &Polls::missed_seconds);
  return all;
}

std::vector<TypeUse> types_of(const std::vector<Rank>& ranks) {
  std::map<std::string, TypeUse> types;
  for (const Rank& rank : ranks)
    for (const TimedCall& one : rank.calls) {
      if (one.call.type == 0) continue;
      TypeUse& of = types[rank.types[one.call.type]];
      ++of.calls;
      of.bytes += std::max(one.call.bytes_in, one.call.bytes_out);
    }
  std::vector<TypeUse> all;
  for (auto& [type, use] : types) all.push_back({type, use.calls, use.bytes});
  std::ranges::stable_sort(all, std::greater<>(), &TypeUse::bytes);
  return all;
}

std::vector<Partners> partners_of(const std::vector<Rank>& ranks, const std::vector<int>& missing) {
  std::map<std::pair<int, int>, Partners> pairs;
  for (const Rank& rank : ranks)
    for (const Messages& one : rank.messages) {
      if (rank.rank < 0 || (!one.sent && !std::ranges::binary_search(missing, one.peer))) continue;
      const int from = one.sent ? rank.rank : one.peer, to = one.sent ? one.peer : rank.rank;
      Partners& pair = pairs[{from, to}];
      pair.from = from;
      pair.to = to;
      pair.messages += one.messages;
      pair.bytes += one.bytes;
    }
  std::vector<Partners> all;
  for (const auto& [key, pair] : pairs) all.push_back(pair);
  return all;
}

/// A call of all ranks, as far as they have been looked at.
struct Meeting {
  std::uint64_t last_begin = 0, before_last = 0;
  std::uint64_t error = 0;  // of the clocks
  std::uint32_t came = 0, size = 0;
  int latest = -1;
  const std::string* function = nullptr;
  const std::string* clock = nullptr;
  bool on_one_clock = true;

  /// All have come, by one clock: those of several hosts may have nothing in common.
  bool is_whole() const { return came == size && on_one_clock; }
  /// All have come, and the last one later than the clocks are wrong.
  bool has_a_last() const { return is_whole() && last_begin - before_last > 2 * error; }
};
using Meetings = std::map<std::pair<std::uint64_t, std::uint32_t>, Meeting>;  // by communicator and number

/// Calls visit(meeting, begin, end) for each rank's call of all ranks, with its times.
template <class Visit>
void visit_meetings(const Rank& rank, Meetings& meetings, const Visit& visit) {
  for (const TimedCall& one : rank.calls) {
    const NamedCommunicator& communicator = rank.communicators[one.call.communicator];
    if (one.call.sequence == 0 || communicator.size < 2) continue;
    Meeting& meeting = meetings[{communicator.id, one.call.sequence}];
    meeting.size = communicator.size;
    meeting.function = &rank.functions[one.call.function];
    visit(meeting, one.call.begin, one.call.end);
  }
}

std::vector<Skew> skews_of(const std::vector<Rank>& ranks) {
  Meetings meetings;
  for (const Rank& rank : ranks)
    visit_meetings(rank, meetings, [&](Meeting& meeting, std::uint64_t begin, std::uint64_t) {
      if (meeting.came++ == 0 || begin > meeting.last_begin) {
        meeting.before_last = meeting.last_begin;
        meeting.last_begin = begin;
        meeting.latest = rank.rank;
      } else {
        meeting.before_last = std::max(meeting.before_last, begin);
      }
      meeting.error = std::max(meeting.error, rank.clock_error_ns);
      if (meeting.clock == nullptr) meeting.clock = &rank.clock;
      meeting.on_one_clock = meeting.on_one_clock && *meeting.clock == rank.clock;
    });
  struct Found {
    Skew skew;
    std::map<int, std::uint64_t> last;  // by rank: calls to which it came last
  };
  std::map<std::pair<std::string, std::uint32_t>, Found> found;
  for (const auto& [key, meeting] : meetings) {
    if (!meeting.is_whole()) continue;
    Found& of = found[{*meeting.function, meeting.size}];
    ++of.skew.calls;
    if (meeting.has_a_last()) ++of.last[meeting.latest];
  }
  for (const Rank& rank : ranks)
    visit_meetings(rank, meetings, [&](const Meeting& meeting, std::uint64_t begin, std::uint64_t end) {
      if (!meeting.is_whole()) return;
      Skew& skew = found[{*meeting.function, meeting.size}].skew;
      skew.inside_seconds += static_cast<double>(end - begin) / kSecond;
      // Who leaves before the last one has come, as a broadcast's root may, has waited no longer.
      if (meeting.has_a_last())
        skew.wait_seconds +=
            static_cast<double>(std::max(begin, std::min(end, meeting.last_begin)) - begin) / kSecond;
    });
  std::vector<Skew> all;
  for (auto& [key, of] : found) {
    std::tie(of.skew.function, of.skew.communicator_size) = key;
    for (const auto& [rank, calls] : of.last)
      if (calls > of.skew.latest_calls) {
        of.skew.latest_rank = rank;
        of.skew.latest_calls = calls;
      }
    all.push_back(std::move(of.skew));
  }
  std::ranges::stable_sort(all, std::greater<>(), &Skew::wait_seconds);
  return all;
}

}  // namespace

Result<Profile> merge(std::vector<Rank> ranks) {
  if (auto status = check(ranks); !status) return status;
  align_clocks(ranks);
  Profile profile;
  for (int rank = 0; rank < ranks.back().ranks; ++rank)
    if (std::ranges::find(ranks, rank, &Rank::rank) == ranks.end()) profile.missing.push_back(rank);
  profile.rows = rows_of(ranks);
  profile.partners = partners_of(ranks, profile.missing);
  profile.skews = skews_of(ranks);
  profile.polls = polls_of(ranks);
  profile.types = types_of(ranks);
  for (Rank& rank : ranks) {
    rank.calls.clear();
    rank.calls.shrink_to_fit();
  }
  profile.ranks = std::move(ranks);
  return profile;
}

}  // namespace sennit::profile
