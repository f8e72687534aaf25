#include "profile/merge.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "profile/host_clocks.h"

namespace sennit::profile {

namespace {

constexpr double kSecond = 1e9, kMicrosecond = 1e3;  // in ns
constexpr int kMostRanks = 1 << 20;                  // of a job: a file that says more was changed

/// A process, without its calls, and the number of its file.
struct Process {
  Rank rank;
  std::size_t file = 0;
};

/// Finds those that cannot be of the run of the process which started first: of a job of another size, or of a rank
/// that there is already. Says why, by file.
std::map<std::size_t, LeftOut> of_other_runs(std::vector<Process>& processes) {
  const auto by_start = [](const Process& one) {
    return std::tuple(one.rank.wall_ns, one.rank.process, one.rank.origin);
  };
  std::ranges::sort(processes, {}, by_start);
  const auto first = std::ranges::find_if(
      processes, [](const Process& one) { return one.rank.rank >= 0 && one.rank.ranks <= kMostRanks; });
  std::map<std::size_t, LeftOut> others;
  std::set<int> there;
  for (const auto& [rank, file] : processes) {
    if (rank.rank < 0) continue;
    if (rank.ranks > kMostRanks)
      others[file] = {rank.origin, fmt::format("it says that the job has {} ranks", rank.ranks)};
    else if (rank.ranks != first->rank.ranks)
      others[file] = {rank.origin, fmt::format("it is of a job of {} ranks, the one that began first has {}",
                                               rank.ranks, first->rank.ranks)};
    else if (!there.insert(rank.rank).second)
      others[file] = {rank.origin,
                      fmt::format("rank {} is there already, of a process that began before", rank.rank)};
  }
  return others;
}

/// Processes that are no rank and have communicated nothing: a program that asked for a version before it became
/// another one, or a helper that has a library loaded. They are left out where there are others, as means are over
/// all.
void leave_out_idle(std::vector<Process>& processes) {
  const auto is_idle = [](const Process& one) { return one.rank.rank < 0 && one.rank.sums.empty(); };
  if (!std::ranges::all_of(processes, is_idle)) std::erase_if(processes, is_idle);
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

void count_types(const Rank& rank, std::map<std::string, TypeUse>& types) {
  std::vector<TypeUse> found(rank.types.size());
  for (const TimedCall& one : rank.calls) {
    TypeUse& of = found[one.call.type];
    ++of.calls;
    of.bytes += std::max(one.call.bytes_in, one.call.bytes_out);
  }
  for (std::size_t i = 1; i < found.size(); ++i) {
    if (found[i].calls == 0) continue;
    TypeUse& of = types[rank.types[i]];
    of.type = rank.types[i];
    of.calls += found[i].calls;
    of.bytes += found[i].bytes;
  }
}

std::vector<RegisteredMemory> registered_in(const std::vector<Rank>& ranks) {
  std::map<std::string, RegisteredMemory> found;
  for (const Rank& rank : ranks)
    for (const Registrations& one : rank.registered) {
      RegisteredMemory& all = found[one.function];
      ++all.processes;
      all.calls += one.calls;
      all.bytes += one.bytes;
      all.left += one.left;
      all.most = std::max(all.most, one.most);
    }
  std::vector<RegisteredMemory> made;
  for (auto& [function, one] : found) {
    one.function = function;
    made.push_back(std::move(one));
  }
  std::ranges::stable_sort(made, std::greater<>(), &RegisteredMemory::bytes);
  return made;
}

std::vector<TypeUse> sorted(const std::map<std::string, TypeUse>& types) {
  std::vector<TypeUse> all;
  for (const auto& [type, use] : types) all.push_back(use);
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

bool are_on_several_hosts(const std::vector<Process>& processes) {
  return std::ranges::any_of(processes,
                             [&](const Process& one) { return one.rank.host != processes.front().rank.host; });
}

/// The run by each clock, from the first process's begin on. All are as long as the longest.
std::map<std::string, RunSpan> spans_of(const std::vector<Rank>& ranks) {
  std::map<std::string, RunSpan> spans;
  for (const Rank& rank : ranks) {
    if (rank.init_ns == 0 || rank.last_ns < rank.init_ns) continue;
    const auto [at, is_new] = spans.try_emplace(rank.clock, RunSpan{rank.init_ns, rank.last_ns});
    at->second.begin_ns = std::min(at->second.begin_ns, rank.init_ns);
    at->second.end_ns = std::max(at->second.end_ns, rank.last_ns);
  }
  std::uint64_t longest = 0;
  for (const auto& [clock, span] : spans) longest = std::max(longest, span.length_ns());
  for (auto& [clock, span] : spans) span.end_ns = span.begin_ns + longest;
  return spans;
}

}  // namespace

Result<Profile> merge(std::size_t files, ReadFile read) {
  Profile profile;
  std::vector<Process> processes;
  std::map<std::size_t, LeftOut> left_out;
  Meetings meetings;
  MessageEnds messages;
  std::map<std::string, TypeUse> types;
  Status unreadable(Code::invalid_argument, "there is no process's file", {},
                    "Name the folder that sennit profile wrote");
  // Calls are looked at before it is known that a file is of another run, or that the job has several hosts: then all
  // are looked at again.
  HostClocks clocks;
  for (bool again = true; again;) {
    processes.clear();
    meetings = {};
    messages = {};
    types.clear();
    for (std::size_t i = 0; i < files; ++i) {
      if (left_out.contains(i)) continue;
      Result<Rank> rank = read(i);
      if (!rank) {
        if (processes.empty() && left_out.empty()) unreadable = rank.status();
        left_out[i] = {rank.status().where(), rank.status().what()};
        continue;
      }
      clocks.align(*rank);
      meetings.come(*rank);
      messages.add(*rank);
      count_types(*rank, types);
      std::vector<TimedCall>().swap(rank->calls);  // with the memory that it has
      processes.push_back({std::move(*rank), i});
    }
    if (processes.empty()) return unreadable;
    leave_out_idle(processes);
    const auto others = of_other_runs(processes);
    left_out.insert(others.begin(), others.end());
    again = !others.empty();
    if (others.size() == processes.size())
      return Status(Code::corrupt, others.begin()->second.why, others.begin()->second.origin,
                    "Profile the program again");
    if (!again && clocks.empty() && are_on_several_hosts(processes)) {
      for (const Process& one : processes)
        if (const Result<Rank> rank = read(one.file); rank.ok()) clocks.add(*rank);
      clocks.compare(
          std::ranges::min_element(processes, {}, [](const Process& one) { return one.rank.rank; })->rank.host);
      again = true;
    }
  }
  std::ranges::stable_sort(processes, {}, [](const Process& one) { return one.rank.rank; });
  for (Process& one : processes) {
    profile.ranks.push_back(std::move(one.rank));
    profile.files.push_back(one.file);
  }
  for (const auto& [file, why] : left_out) profile.left_out.push_back(why);
  for (int rank = 0; rank < profile.ranks.back().ranks; ++rank)
    if (!std::ranges::binary_search(profile.ranks, rank, {}, &Rank::rank)) profile.missing.push_back(rank);
  profile.rows = rows_of(profile.ranks);
  profile.partners = partners_of(profile.ranks, profile.missing);
  profile.polls = polls_of(profile.ranks);
  profile.types = sorted(types);
  profile.registered = registered_in(profile.ranks);
  const auto spans = spans_of(profile.ranks);
  if (!spans.empty()) profile.span_ns = spans.begin()->second.length_ns();
  profile.queues = messages.queues(spans.empty() ? RunSpan() : spans.begin()->second);
  for (const Process& one : processes) {
    Result<Rank> rank = read(one.file);
    if (!rank) continue;  // it was there before, and is told of
    clocks.align(*rank);
    const auto waits = meetings.waits(*rank);
    if (const auto span = spans.find(rank->clock); span != spans.end())
      profile.timeline.push_back(activity_of(*rank, waits, span->second));
  }
  profile.skews = meetings.skews();
  profile.lateness = meetings.lateness();
  return profile;
}

Result<Profile> merge(const std::vector<Rank>& ranks) {
  return merge(ranks.size(), [&](std::size_t i) -> Result<Rank> { return ranks[i]; });
}

}  // namespace sennit::profile
