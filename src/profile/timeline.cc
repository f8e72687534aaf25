#include "profile/timeline.h"

#include <algorithm>

namespace sennit::profile {

Doing doing_of(std::string_view function, bool of_all) {
  if (function.starts_with("nccl")) return Doing::nccl;
  if (of_all) return Doing::collective;
  if (!function.starts_with("MPI_")) return Doing::other;
  function.remove_prefix(4);
  if (function.ends_with("_c")) function.remove_suffix(2);
  for (const std::string_view waits : {"Wait", "Test", "Request_get_status", "Parrived", "Win_wait", "Win_test"})
    if (function.starts_with(waits) && function != "Test_cancelled") return Doing::waiting;
  constexpr std::array<std::string_view, 4> kProbes{"Probe", "Iprobe", "Mprobe", "Improbe"};
  if (std::ranges::find(kProbes, function) != kProbes.end()) return Doing::waiting;
  constexpr std::array<std::string_view, 23> kMessages{"Send",
                                                       "Bsend",
                                                       "Ssend",
                                                       "Rsend",
                                                       "Isend",
                                                       "Ibsend",
                                                       "Issend",
                                                       "Irsend",
                                                       "Recv",
                                                       "Irecv",
                                                       "Mrecv",
                                                       "Imrecv",
                                                       "Start",
                                                       "Startall",
                                                       "Sendrecv",
                                                       "Sendrecv_replace",
                                                       "Put",
                                                       "Get",
                                                       "Isendrecv_replace",
                                                       "Isendrecv",
                                                       "Accumulate",
                                                       "Rput",
                                                       "Rget"};
  return std::ranges::find(kMessages, function) != kMessages.end() ? Doing::message : Doing::other;
}

std::array<std::array<double, kTimeBins>, kDoings> shares_of(std::span<const Interval> intervals,
                                                             const RunSpan& run) {
  std::array<std::array<double, kTimeBins>, kDoings> share{};
  std::array<double, kTimeBins> inside{};  // ns, those of overlaps once
  std::uint64_t covered = 0;
  for (const Interval& one : intervals) {
    run.divide(one.begin, one.end, [&](std::size_t bin, std::uint64_t ns) {
      share[static_cast<std::size_t>(one.doing)][bin] += static_cast<double>(ns);
    });
    run.divide(std::max(one.begin, covered), one.end,
               [&](std::size_t bin, std::uint64_t ns) { inside[bin] += static_cast<double>(ns); });
    covered = std::max(covered, one.end);
  }
  for (std::size_t bin = 0; bin < kTimeBins; ++bin) {
    const auto bin_ns = static_cast<double>(run.edge(bin + 1) - run.edge(bin));
    double all = 0;
    for (const auto& each : share) all += each[bin];
    for (auto& each : share) each[bin] = all > 0 && bin_ns > 0 ? each[bin] / all * (inside[bin] / bin_ns) : 0;
  }
  return share;
}

Activity activity_of(const Rank& rank, std::span<const std::uint64_t> waits, const RunSpan& run) {
  std::vector<std::array<Doing, 2>> doing;  // of each function: a call of all ranks or not
  for (const std::string& function : rank.functions)
    doing.push_back({doing_of(function, false), doing_of(function, true)});
  std::vector<Interval> intervals;
  intervals.reserve(rank.calls.size());
  for (std::size_t i = 0; i < rank.calls.size(); ++i) {
    const Call& call = rank.calls[i].call;
    if (call.end <= rank.init_ns || (rank.last_ns != 0 && call.begin >= rank.last_ns)) continue;  // not of its run
    const std::uint64_t until = call.begin + waits[i];
    if (waits[i] != 0) intervals.push_back({call.begin, until, Doing::waiting});
    intervals.push_back({until, call.end, doing[call.function][call.sequence != 0 ? 1 : 0]});
  }
  if (!std::ranges::is_sorted(intervals, {}, &Interval::begin)) std::ranges::sort(intervals, {}, &Interval::begin);
  std::uint64_t begin = rank.init_ns;
  if (rank.calls_lost != 0 && !intervals.empty()) begin = std::max(begin, intervals.front().begin);
  Activity activity{.rank = rank.rank, .share = shares_of(intervals, run)};
  const auto middle = [&](std::size_t bin) { return (run.edge(bin) + run.edge(bin + 1)) / 2; };
  while (activity.from_bin < kTimeBins && middle(activity.from_bin) < begin) ++activity.from_bin;
  activity.to_bin = kTimeBins;
  while (activity.to_bin > activity.from_bin && middle(activity.to_bin - 1) > rank.last_ns) --activity.to_bin;
  return activity;
}

}  // namespace sennit::profile
