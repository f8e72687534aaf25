#include "profile/queues.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "profile/skew.h"

namespace sennit::profile {

namespace {

/// The numbers that an MPI has for what is left open, and for no rank.
struct Wildcards {
  std::int32_t any_source, any_tag;
};

/// The numbers are part of the ABI of the MPI, which the file's header names.
Wildcards wildcards_of(std::string_view mpi) {
  if (mpi == "MPICH") return {-2, -1};
  if (mpi == "Open MPI") return {-1, -1};
  return {-1, -2};
}

struct Ways {
  bool sends = false, receives = false;
  bool waits = false;  ///< for the message that it receives
  bool probes = false, starts = false;
};

Ways ways_of(std::string_view function) {
  if (!function.starts_with("MPI_")) return {};
  function.remove_prefix(4);
  if (function.ends_with("_c")) function.remove_suffix(2);
  constexpr std::array<std::string_view, 8> kSends{"Send",  "Bsend",  "Ssend",  "Rsend",
                                                   "Isend", "Ibsend", "Issend", "Irsend"};
  if (std::ranges::find(kSends, function) != kSends.end()) return {.sends = true};
  if (function == "Recv" || function == "Irecv") return {.receives = true, .waits = function == "Recv"};
  if (function == "Mprobe" || function == "Improbe") return {.receives = true, .waits = true, .probes = true};
  if (function == "Start" || function == "Startall") return {.starts = true};
  if (function.starts_with("Sendrecv")) return {.sends = true, .receives = true, .waits = true};
  if (function.starts_with("Isendrecv")) return {.sends = true, .receives = true};
  return {};
}

}  // namespace

QueueLength length_of(std::vector<std::uint64_t> begins, std::vector<std::uint64_t> ends, const RunSpan& run) {
  std::ranges::sort(begins);
  std::ranges::sort(ends);
  QueueLength length;
  std::array<double, kTimeBins> entry_ns{};
  std::uint64_t now = 0, since = run.begin_ns;
  const auto spend = [&](std::uint64_t until) {
    if (now != 0)
      run.divide(since, until, [&](std::size_t bin, std::uint64_t ns) {
        entry_ns[bin] += static_cast<double>(now) * static_cast<double>(ns);
        length.most_of_bin[bin] = std::max(length.most_of_bin[bin], now);
      });
    since = until;
  };
  for (std::size_t begin = 0, end = 0; end < ends.size();)
    if (begin < begins.size() && begins[begin] < ends[end]) {
      spend(begins[begin++]);
      ++now;
    } else {
      spend(ends[end++]);
      --now;
    }
  double all = 0;
  for (std::size_t bin = 0; bin < kTimeBins; ++bin) {
    const auto bin_ns = static_cast<double>(run.edge(bin + 1) - run.edge(bin));
    all += entry_ns[bin];
    length.mean_of_bin[bin] = bin_ns > 0 ? entry_ns[bin] / bin_ns : 0;
    length.most = std::max(length.most, length.most_of_bin[bin]);
  }
  length.mean = run.length_ns() > 0 ? all / static_cast<double>(run.length_ns()) : 0;
  return length;
}

void MessageEnds::add(const Rank& rank) {
  if (clock_.empty()) clock_ = rank.clock;
  on_one_clock_ = on_one_clock_ && clock_ == rank.clock;
  error_ns_ = std::max(error_ns_, rank.clock_error_ns);
  const Wildcards wildcards = wildcards_of(rank.mpi);
  std::vector<Ways> ways;
  for (const std::string& function : rank.functions) ways.push_back(ways_of(function));
  std::unordered_map<Key, std::vector<MessageEnd>, Hash> sends;
  std::uint64_t first = ~std::uint64_t{0};
  for (const TimedCall& one : rank.calls) {
    const Call& call = one.call;
    first = std::min(first, call.begin);
    const Ways way = ways[call.function];
    if (way.starts) ++left_out_;
    const NamedCommunicator& communicator = rank.communicators[call.communicator];
    if (communicator.id == 0) continue;
    const auto own = static_cast<std::int32_t>(communicator.rank);
    if (way.sends && call.peer >= 0) sends[{communicator.id, call.peer}].push_back({call.begin, own, call.tag});
    if (!way.receives || call.missed != 0) continue;
    // A record of an exchange has one other rank, and that is where it sends to.
    const bool open = way.sends;
    if (!open && call.peer < 0 && call.peer != wildcards.any_source) continue;
    Receive receive{{.ns = call.begin,
                     .other = open || call.peer < 0 ? kAny : call.peer,
                     .tag = open || call.tag == wildcards.any_tag ? kAny : call.tag}};
    if (way.waits) receive.until = call.end + 2 * rank.clock_error_ns;
    if (way.probes) receive.ns = call.end;  // what a probe finds has come, and is in no queue any more
    ends_[{communicator.id, own}].receives.push_back(receive);
  }
  if (rank.calls_lost != 0 && !rank.calls.empty()) since_ns_ = std::max(since_ns_, first);
  for (auto& [key, of] : sends) ends_[key].sends.push_back(std::move(of));
  for (const NamedCommunicator& communicator : rank.communicators) {
    if (communicator.id == 0) continue;
    Ends& of = ends_[{communicator.id, static_cast<std::int32_t>(communicator.rank)}];
    of.is_one = of.is_one && (of.rank < 0 || of.rank == rank.rank);
    of.rank = rank.rank;
  }
}

ReconstructedQueues MessageEnds::queues(const RunSpan& run) {
  ReconstructedQueues all;
  all.left_out = left_out_;
  if (!on_one_clock_) {
    all.why_not = "the ranks are on several hosts, whose clocks could not be compared";
    return all;
  }
  struct Entries {
    RankQueues of;
    std::array<std::vector<std::uint64_t>, 2> posted, unexpected;  // begins, ends
  };
  std::map<int, Entries> entries;
  if (since_ns_ > run.begin_ns) all.since_seconds = static_cast<double>(since_ns_ - run.begin_ns) / 1e9;
  for (auto& [key, ends] : ends_) {
    if (!ends.is_one || ends.rank < 0) continue;
    std::vector<MessageEnd> sends;
    for (std::vector<MessageEnd>& some : ends.sends) {
      sends.insert(sends.end(), some.begin(), some.end());
      std::vector<MessageEnd>().swap(some);
    }
    if (since_ns_ != 0) {
      const auto is_before = [&](const MessageEnd& end) { return end.ns < since_ns_; };
      std::erase_if(sends, is_before);
      std::erase_if(ends.receives, is_before);
    }
    const Matching matching = match(std::move(sends), std::move(ends.receives), since_ns_);
    all.sends += matching.sends;
    all.receives += matching.receives;
    if (matching.matched.empty()) continue;
    Entries& of = entries[ends.rank];
    of.of.rank = ends.rank;
    for (const auto& [sent, posted] : matching.matched) {
      ++of.of.messages;
      const auto [from, to] = std::minmax(sent, posted);
      if (to - from <= 2 * error_ns_) {
        ++of.of.undecided;
        continue;
      }
      auto& queue = sent < posted ? of.unexpected : of.posted;
      queue[0].push_back(from);
      queue[1].push_back(to);
    }
  }
  for (auto& [rank, of] : entries) {
    of.of.posted = length_of(std::move(of.posted[0]), std::move(of.posted[1]), run);
    of.of.unexpected = length_of(std::move(of.unexpected[0]), std::move(of.unexpected[1]), run);
    all.ranks.push_back(of.of);
  }
  if (all.ranks.empty())
    all.why_not = left_out_ != 0 ? "all messages are of persistent requests, whose starts do not say which"
                                 : "no message was sent to a rank that received it";
  ends_.clear();
  return all;
}

}  // namespace sennit::profile
