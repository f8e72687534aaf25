#include "bench/measure/together.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/units.h"
#include "bench/measure/figures.h"

namespace sennit::bench::measure {

using machine::Curve;
using machine::Figure;
using machine::Method;
using machine::Traffic;

namespace {

/// Numbers the first of the lanes that serve one peer each; below are those of copies one at a time.
constexpr int kPeerLanes = 8;
/// Messages in turn that stand for a memory's rate. A default: four leave a start of 25 µs 2 % of 64 MiB at 50 GB/s.
constexpr int kInTurn = 4;

struct Pair {
  const Stop *from, *to;
  std::uint64_t source_slice, target_slice;  ///< which part of the buffers it uses
  int peer;                                  ///< number of its lane where every pair has its own
};

enum class Issue { rounds, lane_each };

/// Returns the group in which every pair moves `bytes`. Lanes belong to the device that drives the copy.
Result<std::vector<Transfer>> group(Rig& rig, const std::vector<Pair>& pairs, std::uint64_t bytes, Issue issue) {
  std::vector<Transfer> transfers;
  for (const Pair& pair : pairs) {
    const int number = issue == Issue::lane_each ? kPeerLanes + pair.peer : pair.from->is_host() ? 1 : 0;
    auto lane = rig.lane(driver_of(*pair.from, *pair.to), number);
    if (!lane) return lane.status();
    transfers.push_back({*lane, pair.to->to(pair.target_slice * bytes).at_owner,
                         pair.from->from(pair.source_slice * bytes).at_owner, bytes, Method::engine, 0});
  }
  return transfers;
}

Result<Summary> faster_issue(Rig& rig, const std::vector<Pair>& pairs, std::uint64_t bytes, Repeat how) {
  Summary best;
  for (const Issue issue : {Issue::rounds, Issue::lane_each}) {
    auto transfers = group(rig, pairs, bytes, issue);
    if (!transfers) return transfers.status();
    const Result<Summary> summary = time_together(how, *transfers);
    if (!summary) return summary.status();
    if (best.repetitions == 0 || summary->median_us < best.median_us) best = *summary;
  }
  return best;
}

/// Returns all ordered pairs of trusted GPUs, round by round.
std::vector<Pair> rounds(Rig& rig, const Trusts& trusts) {
  std::vector<Pair> pairs;
  const auto& gpus = rig.gpus();
  for (std::size_t round = 1; round < gpus.size(); ++round)
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      const Stop& to = gpus[(i + round) % gpus.size()];
      if (trusts(gpus[i], to)) pairs.push_back({&gpus[i], &to, round - 1, round - 1, int(round)});
    }
  return pairs;
}

std::vector<Pair> with_host(Rig& rig, const Stop& host, const Trusts& trusts, bool to_host) {
  std::vector<Pair> pairs;
  for (const Stop& gpu : rig.gpus()) {
    const auto slice = std::uint64_t(pairs.size());
    if (to_host && trusts(gpu, host)) pairs.push_back({&gpu, &host, 0, slice, 0});
    if (!to_host && trusts(host, gpu)) pairs.push_back({&host, &gpu, slice, 0, 0});
  }
  return pairs;
}

struct Total {
  std::vector<Curve::Point> points;
  std::optional<Figure> gbps;  ///< of kInTurn messages of the largest size in turn, all pairs summed
};

Result<Total> sweep_host(Rig& rig, const std::vector<Pair>& pairs, std::uint64_t slices, const Sweep& sweep,
                         std::string_view what) {
  Total total;
  if (pairs.empty()) return total;
  std::vector<Transfer> largest;
  for (const std::uint64_t bytes : sweep.sizes) {
    if (bytes * slices > rig.room()) break;
    auto transfers = group(rig, pairs, bytes, Issue::rounds);
    if (!transfers) return transfers.status();
    const Result<Summary> summary = time_together(sweep.repeat, *transfers);
    if (!summary) return summary.status();
    total.points.push_back(point(bytes, *summary));
    largest = std::move(*transfers);
    if (summary->median_us > sweep.longest_us) break;
  }
  if (largest.empty()) return total;
  // The memory's own rate, without the start: several in turn on every lane.
  const std::vector<Transfer> once = largest;
  for (int i = 1; i < kInTurn; ++i) largest.insert(largest.end(), once.begin(), once.end());
  const Result<Summary> summary = time_together(sweep.repeat, largest);
  if (!summary) return summary.status();
  const std::uint64_t bytes = once.front().bytes;
  total.gbps = rate_figure(kInTurn * bytes * pairs.size(), *summary,
                           fmt::format("{}, {} × {} each", what, kInTurn, format_bytes(bytes)));
  return total;
}

}  // namespace

Result<std::vector<Curve>> all_pairs_at_once(Rig& rig, const Trusts& trusts, const Sweep& sweep) {
  const std::vector<Pair> pairs = rounds(rig, trusts);
  std::vector<Curve> curves;
  if (pairs.size() < 2) return curves;
  std::vector<Curve::Point> points;
  for (const std::uint64_t bytes : sweep.sizes) {
    if (bytes * (rig.gpus().size() - 1) > rig.room()) break;
    const Result<Summary> summary = faster_issue(rig, pairs, bytes, sweep.repeat);
    if (!summary) return summary.status().in("all GPUs at once");
    points.push_back(point(bytes, *summary));
    if (summary->median_us > sweep.longest_us) break;
  }
  if (points.empty()) return curves;
  for (const Stop& from : rig.gpus())
    for (const Stop& to : rig.gpus())
      if (&from != &to && trusts(from, to))
        curves.push_back({from.id, to.id, Method::engine, Traffic::all_at_once, points});
  return curves;
}

Result<HostAtOnce> host_at_once(Rig& rig, const Stop& host, const Trusts& trusts, const Sweep& sweep) {
  HostAtOnce result;
  const std::vector<Pair> out = with_host(rig, host, trusts, false), in = with_host(rig, host, trusts, true);
  std::vector<Pair> both = out;
  both.insert(both.end(), in.begin(), in.end());
  const std::uint64_t slices = std::max<std::uint64_t>({1, out.size(), in.size()});

  auto read = sweep_host(rig, out, slices, sweep, fmt::format("{} GPUs reading pinned memory at once", out.size()));
  if (!read) return std::move(read).status().in(host.id);
  auto written = sweep_host(rig, in, slices, sweep, fmt::format("{} GPUs writing pinned memory at once", in.size()));
  if (!written) return std::move(written).status().in(host.id);
  auto mixed = sweep_host(rig, both, slices, sweep,
                          fmt::format("{} GPUs reading and {} writing pinned memory at once", out.size(), in.size()));
  if (!mixed) return std::move(mixed).status().in(host.id);

  result.read_gbps = read->gbps;
  result.write_gbps = written->gbps;
  if (!out.empty() && !in.empty()) result.read_write_gbps = mixed->gbps;
  for (const Pair& pair : both) {
    const auto& points = pair.from == &host ? read->points : written->points;
    if (!points.empty())
      result.curves.push_back({pair.from->id, pair.to->id, Method::engine, Traffic::all_at_once, points});
  }
  return result;
}

namespace {

/// Everything that one GPU sends (or receives) at once.
Result<std::optional<Figure>> one_limit(Rig& rig, const Stop& gpu, const Trusts& trusts, bool sends,
                                        std::uint64_t bytes, Repeat how) {
  std::vector<Pair> peers;
  for (const Stop& other : rig.gpus()) {
    if (&other == &gpu) continue;
    const auto number = std::uint64_t(peers.size());
    if (sends && trusts(gpu, other)) peers.push_back({&gpu, &other, number, 0, int(number) + 1});
    if (!sends && trusts(other, gpu)) peers.push_back({&other, &gpu, 0, number, int(number) + 1});
  }
  if (peers.empty()) return std::optional<Figure>();
  bytes = std::min(bytes, rig.room() / peers.size() / (64 * KiB) * (64 * KiB));
  const Result<Summary> all = faster_issue(rig, peers, bytes, how);
  if (!all) return all.status();
  return std::optional(rate_figure(
      bytes * peers.size(), *all,
      fmt::format("{} {} other GPUs at once, {} each", sends ? "to" : "from", peers.size(), format_bytes(bytes))));
}

}  // namespace

Result<GpuLimits> gpu_limits(Rig& rig, const Stop& gpu, const Trusts& trusts, std::uint64_t bytes, Repeat how) {
  auto sent = one_limit(rig, gpu, trusts, true, bytes, how);
  if (!sent) return std::move(sent).status().in(gpu.id);
  auto received = one_limit(rig, gpu, trusts, false, bytes, how);
  if (!received) return std::move(received).status().in(gpu.id);
  return GpuLimits{*sent, *received};
}

}  // namespace sennit::bench::measure
