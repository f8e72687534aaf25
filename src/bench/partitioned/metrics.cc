#include "bench/partitioned/metrics.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/units.h"

namespace sennit::bench::partitioned {

namespace {

/// Adds up intervals after neighbours that overlap have been merged; `end`: of what two of them make.
template <class End>
double merged(std::vector<Interval> intervals, const End& end) {
  if (intervals.empty()) return 0;
  std::ranges::sort(intervals, {}, [](const Interval& each) { return std::pair(each.begin, each.end); });
  double whole = 0;
  Interval now = intervals.front();
  for (const Interval& next : std::span(intervals).subspan(1)) {
    if (next.begin <= now.end) {
      now.end = end(now.end, next.end);
      continue;
    }
    whole += now.end - now.begin;
    now = next;
  }
  return whole + now.end - now.begin;
}

/// Returns what of the intervals is before a time, or after it.
std::vector<Interval> clipped(std::vector<Interval> intervals, double at, bool before) {
  for (Interval& each : intervals) {
    if (before)
      each = {std::min(each.begin, at), std::min(each.end, at)};
    else
      each = {std::max(each.begin, at), std::max(each.end, at)};
  }
  std::erase_if(intervals, [](const Interval& each) { return each.begin >= each.end; });
  return intervals;
}

bool is_duration(double us) {
  return std::isfinite(us) && us > 0;
}

bool is_valid(const Iteration& iteration) {
  if (iteration.partitions.empty() || !std::isfinite(iteration.start_us) || !std::isfinite(iteration.joined_us))
    return false;
  return std::ranges::all_of(iteration.partitions, [](const Partition& each) {
    return std::isfinite(each.ready_us) && std::isfinite(each.returned_us) && std::isfinite(each.arrived_us) &&
           each.ready_us <= each.returned_us && each.ready_us <= each.arrived_us;
  });
}

}  // namespace

double union_of(std::vector<Interval> intervals) {
  return merged(std::move(intervals), [](double one, double other) { return std::max(one, other); });
}

std::optional<Metrics> metrics_of(const Iteration& iteration) {
  if (!is_valid(iteration)) return std::nullopt;
  std::vector<Interval> travels;
  double last_ready = iteration.partitions.front().ready_us, last_arrived = iteration.partitions.front().arrived_us;
  for (const Partition& each : iteration.partitions) {
    travels.push_back({each.ready_us, each.arrived_us});
    last_ready = std::max(last_ready, each.ready_us);
    last_arrived = std::max(last_arrived, each.arrived_us);
  }
  Metrics metrics;
  metrics.transfer_us = union_of(travels);
  metrics.before_us = union_of(clipped(travels, iteration.joined_us, true));
  metrics.after_us = union_of(clipped(travels, iteration.joined_us, false));
  metrics.exposed_us = std::max(0.0, last_arrived - iteration.joined_us);
  metrics.last_us = last_arrived - last_ready;
  metrics.early_bird_percent = metrics.transfer_us > 0 ? 100 * metrics.before_us / metrics.transfer_us : 0;
  return metrics;
}

std::optional<double> overhead(const Metrics& metrics, double single_us) {
  if (!is_duration(single_us) || !is_duration(metrics.transfer_us)) return std::nullopt;
  return metrics.transfer_us / single_us;
}

std::optional<double> availability_percent(const Metrics& metrics, double single_us) {
  if (!is_duration(single_us)) return std::nullopt;
  return 100 * (single_us - metrics.after_us) / single_us;
}

std::optional<double> perceived_gbps(const Metrics& metrics, std::uint64_t bytes) {
  if (!is_duration(metrics.last_us)) return std::nullopt;
  return gigabytes_per_second(bytes, metrics.last_us);
}

double published_union_of(std::vector<Interval> intervals) {
  return merged(std::move(intervals), [](double, double later) { return later; });
}

std::optional<Published> published(const Iteration& iteration, double mean_join_us) {
  if (!is_valid(iteration)) return std::nullopt;
  std::vector<Interval> travels;
  double last_returned = iteration.partitions.front().returned_us,
         last_arrived = iteration.partitions.front().arrived_us;
  for (const Partition& each : iteration.partitions) {
    // A partition that arrives while its call still runs would end before it begins.
    travels.push_back({each.returned_us, std::max(each.returned_us, each.arrived_us)});
    last_returned = std::max(last_returned, each.returned_us);
    last_arrived = std::max(last_arrived, each.arrived_us);
  }
  const double joined = iteration.start_us + mean_join_us;
  Published found;
  found.transfer_us = published_union_of(travels);
  found.before_us = published_union_of(clipped(travels, joined, true));
  found.after_us = published_union_of(clipped(travels, joined, false));
  found.last_us = std::max(0.0, last_arrived - last_returned);
  return found;
}

}  // namespace sennit::bench::partitioned
