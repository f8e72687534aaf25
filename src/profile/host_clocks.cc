#include "profile/host_clocks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace sennit::profile {

namespace {

/// Most that two clocks move apart in a ns: a limit of the kernel's, which turns its clock by 500 ppm at most, each.
constexpr double kMostDrift = 1e-3;
/// The same, besides what they have done steadily between their first and last comparison: a default. Where they have
/// done more, the comparisons contradict each other by as much, which is in their errors.
constexpr double kDrift = 2e-5;
/// A comparison takes the best of the calls of such a time, or of a 64th of the run.
constexpr std::uint64_t kWindow = 1'000'000'000, kWindows = 64;  // ns

/// Returns true of a call that no rank leaves before all have come.
bool meets_all(std::string_view function) {
  constexpr std::array<std::string_view, 8> kNames = {"MPI_Barrier",        "MPI_Allreduce",
                                                      "MPI_Allgather",      "MPI_Alltoall",
                                                      "MPI_Reduce_scatter", "MPI_Reduce_scatter_block",
                                                      "MPI_Allgatherv",     "MPI_Alltoallv"};
  if (function.ends_with("_c")) function.remove_suffix(2);
  return std::ranges::find(kNames, function) != kNames.end();
}

/// Between which limits one clock is ahead of another at a time, as one call says.
struct Bounds {
  std::uint64_t ns;  // of the other clock
  double least, most;
};

std::vector<Offset> offsets_of(const std::vector<Bounds>& all, double gain, double drift) {
  std::vector<Offset> known;
  const std::uint64_t window = std::min(kWindow, (all.back().ns - all.front().ns) / kWindows + 1);
  const auto steady = [&](const Bounds& one) { return gain * static_cast<double>(one.ns - all.front().ns); };
  for (std::size_t i = 0; i < all.size();) {
    // The two limits may be of two calls: what clocks move apart meanwhile is in the error.
    const Bounds *lower = &all[i], *upper = &all[i];
    for (const std::uint64_t end = all[i].ns + window; i < all.size() && all[i].ns < end; ++i) {
      if (all[i].least - steady(all[i]) > lower->least - steady(*lower)) lower = &all[i];
      if (all[i].most - steady(all[i]) < upper->most - steady(*upper)) upper = &all[i];
    }
    const double least = lower->least - steady(*lower), most = upper->most - steady(*upper);
    const std::uint64_t from = std::min(lower->ns, upper->ns), to = std::max(lower->ns, upper->ns);
    known.push_back(
        {from + (to - from) / 2, static_cast<std::int64_t>((least + most) / 2),
         static_cast<std::uint64_t>(std::abs(most - least) / 2 + drift * static_cast<double>(to - from)) + 1});
  }
  return known;
}

}  // namespace

Offset HostClock::at(std::uint64_t ns) const {
  const auto after = std::ranges::lower_bound(known, ns, {}, &Offset::ns);
  const auto steady = [&](std::int64_t ahead) {
    const double since = static_cast<double>(static_cast<std::int64_t>(ns - known.front().ns));
    return ahead + static_cast<std::int64_t>(gain * since);
  };
  const auto away = [&](const Offset& of) {
    const std::uint64_t apart = of.ns > ns ? of.ns - ns : ns - of.ns;
    return Offset{ns, steady(of.ahead), of.error + static_cast<std::uint64_t>(drift * static_cast<double>(apart))};
  };
  if (after == known.begin()) return away(*after);
  const Offset& before = *std::prev(after);
  if (after == known.end()) return away(before);
  const double part = static_cast<double>(ns - before.ns) / static_cast<double>(after->ns - before.ns);
  return {ns,
          steady(before.ahead + static_cast<std::int64_t>(part * static_cast<double>(after->ahead - before.ahead))),
          std::max(before.error, after->error)};
}

HostClock HostClocks::compare(const SharedCalls& shared, const std::string& first, const std::string& other) {
  std::vector<Bounds> all;
  for (const auto& [key, hosts] : shared) {
    const auto here = hosts.find(first), there = hosts.find(other);
    if (here == hosts.end() || there == hosts.end()) continue;
    const auto difference = [](std::uint64_t one, std::uint64_t two) {
      return static_cast<double>(static_cast<std::int64_t>(one - two));
    };
    all.push_back({there->second.end, difference(there->second.begin, here->second.end),
                   difference(there->second.end, here->second.begin)});
  }
  HostClock clock{.known = {}, .drift = kMostDrift};
  if (all.empty()) return clock;
  std::ranges::sort(all, {}, &Bounds::ns);
  clock.known = offsets_of(all, 0, kMostDrift);
  const Offset &begin = clock.known.front(), &end = clock.known.back();
  if (clock.known.size() < 2) return clock;
  clock.gain = static_cast<double>(end.ahead - begin.ahead) / static_cast<double>(end.ns - begin.ns);
  clock.drift = kDrift;
  clock.known = offsets_of(all, clock.gain, kDrift);
  // From the first comparison on, as all others are.
  const double since = clock.gain * static_cast<double>(clock.known.front().ns - all.front().ns);
  for (Offset& one : clock.known) one.ahead += static_cast<std::int64_t>(since);
  return clock;
}

void HostClocks::add(const Rank& rank) {
  hosts_.insert(rank.host);
  for (const TimedCall& one : rank.calls) {
    const NamedCommunicator& communicator = rank.communicators[one.call.communicator];
    const std::string& function = rank.functions[one.call.function];
    const bool moves = one.call.bytes_in + one.call.bytes_out != 0 || function == "MPI_Barrier";
    if (one.call.sequence == 0 || communicator.size < 2 || !moves || !meets_all(function)) continue;
    OnHost& here = shared_[{communicator.id, one.call.sequence}][rank.host];
    here.begin = std::max(here.begin, one.call.begin);
    here.end = std::min(here.end, one.call.end);
  }
}

void HostClocks::compare(const std::string& first) {
  first_ = first;
  for (const std::string& host : hosts_)
    if (host != first) clocks_[host] = compare(shared_, first, host);
  shared_.clear();
}

void HostClocks::align(Rank& rank) const {
  const auto clock = clocks_.find(rank.host);
  if (clock == clocks_.end() || clock->second.known.empty()) return;
  std::uint64_t error = 0;
  const auto turn = [&](std::uint64_t& ns) {
    if (ns == 0) return;  // it was never written
    const Offset offset = clock->second.at(ns);
    ns = static_cast<std::uint64_t>(std::max<std::int64_t>(1, static_cast<std::int64_t>(ns) - offset.ahead));
    error = std::max(error, offset.error);
  };
  for (TimedCall& one : rank.calls) {
    turn(one.call.begin);
    turn(one.call.end);
  }
  rank.clock_error_ns += error;
  // These lie outside of the calls, or at their borders: they tell nothing of the error between them.
  turn(rank.init_ns);
  turn(rank.last_ns);
  for (Sampled& variable : rank.variables)
    for (Sampled::Point& point : variable.points) turn(point.ns);
  rank.clock = first_;
}

}  // namespace sennit::profile
