#include "bench/partitioned/result.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "bench/mpi/statistics.h"

namespace sennit::bench::partitioned {

namespace {

using mpi::Median;
using mpi::median_of;

Json to_json(const Median& median) {
  return {{"median", median.value}, {"low", median.low}, {"high", median.high}};
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double each : values) sum += each;
  return values.empty() ? 0 : sum / double(values.size());
}

/// The values of all rounds, each by name.
struct Values {
  std::vector<double> single, transfer, overhead, perceived, availability, early_bird, exposed, last, early, saved;

  void add(const Iteration& own, const Metrics& metrics, double single_us, double typical_us, std::uint64_t bytes) {
    single.push_back(single_us);
    transfer.push_back(metrics.transfer_us);
    if (const auto found = partitioned::overhead(metrics, single_us)) overhead.push_back(*found);
    if (const auto found = perceived_gbps(metrics, bytes)) perceived.push_back(*found);
    if (const auto found = availability_percent(metrics, typical_us)) availability.push_back(*found);
    early_bird.push_back(metrics.early_bird_percent);
    exposed.push_back(metrics.exposed_us);
    last.push_back(metrics.last_us);
    early.push_back(early_percent(own));
  }

  /// Returns how many of the partitions, but for the one that is ready last, arrive before that one is ready.
  static double early_percent(const Iteration& own) {
    if (own.partitions.size() < 2) return 0;
    const double ready = std::ranges::max(own.partitions, {}, &Partition::ready_us).ready_us;
    const auto early =
        std::ranges::count_if(own.partitions, [&](const Partition& each) { return each.arrived_us < ready; });
    return 100.0 * double(early) / double(own.partitions.size() - 1);
  }
};

/// From the start, compute and all, to the last arrival.
double until_there(const Iteration& iteration) {
  return std::ranges::max(iteration.partitions, {}, &Partition::arrived_us).arrived_us - iteration.start_us;
}

/// The iteration whose transfer is the median, from its start.
Json timeline(const std::vector<Iteration>& iterations) {
  std::vector<std::pair<double, const Iteration*>> sorted;
  for (const Iteration& each : iterations)
    if (const auto found = metrics_of(each)) sorted.emplace_back(found->transfer_us, &each);
  if (sorted.empty()) return nullptr;
  std::ranges::sort(sorted);
  const Iteration& one = *sorted[sorted.size() / 2].second;
  const auto since = [&](double us) { return std::round((us - one.start_us) * 1e3) / 1e3; };
  Json partitions = Json::array();
  for (const Partition& each : one.partitions)
    partitions.push_back({since(each.ready_us), since(each.returned_us), since(each.arrived_us)});
  return {{"joined_us", since(one.joined_us)}, {"end_us", since(one.end_us)}, {"partitions", partitions}};
}

/// The public suite's figures of the same iterations: means, with its defects.
Json as_published(const Samples& samples, std::uint64_t bytes) {
  std::vector<double> joins, singles, transfers, befores, afters, lasts;
  // Its join is that of another phase; the rounds of whole messages compute as long and send nothing before it.
  for (const Iteration& each : samples.single) {
    joins.push_back(each.joined_us - each.start_us);
    if (const auto found = metrics_of(each)) singles.push_back(found->transfer_us);
  }
  for (const Iteration& each : samples.own)
    if (const auto found = published(each, mean(joins))) {
      transfers.push_back(found->transfer_us);
      befores.push_back(found->before_us);
      afters.push_back(found->after_us);
      lasts.push_back(found->last_us);
    }
  const double single = mean(singles), transfer = mean(transfers), last = mean(lasts);
  return {{"overhead", single > 0 ? transfer / single : 0},
          {"perceived_gbps", last > 0 ? double(bytes) / last / 1e3 : 0},
          {"availability_percent", single > 0 ? 100 * (single - mean(afters)) / single : 0},
          {"early_bird_percent", transfer > 0 ? 100 * mean(befores) / transfer : 0}};
}

}  // namespace

Json axes(const Cell& cell, const Setting& setting) {
  const Plan& plan = cell.plan;
  return {{"line", cell.line},
          {"back_end", name(cell.back_end)},
          {"bytes", plan.bytes},
          {"partitions", plan.crew.partitions},
          {"threads", plan.crew.threads},
          {"compute_us", plan.compute_us},
          {"computed", setting.compute == Compute::slept ? "slept" : "spun"},
          {"noise", plan.noise.text()},
          {"order", plan.order.text()},
          {"cache", cell.cold ? "cold" : "hot"},
          {"crowded", plan.crew.threads > setting.cores}};
}

Json measured(const Cell& cell, const Setting& setting, const Samples& samples) {
  std::vector<double> singles;
  for (const Iteration& each : samples.single)
    if (const auto found = metrics_of(each)) singles.push_back(found->transfer_us);
  const double typical = median_of(singles).value;
  Values values;
  for (std::size_t round = 0; round < std::min(samples.own.size(), samples.single.size()); ++round) {
    const auto own = metrics_of(samples.own[round]), single = metrics_of(samples.single[round]);
    if (!own || !single) continue;
    values.add(samples.own[round], *own, single->transfer_us, typical, cell.plan.bytes);
    values.saved.push_back(until_there(samples.single[round]) - until_there(samples.own[round]));
  }
  Json row = axes(cell, setting);
  row["state"] = "measured";
  row["messages"] = is_whole(cell.back_end) ? 1 : cell.plan.crew.partitions;
  row["rounds"] = values.transfer.size();
  row["steady"] = samples.is_steady;
  row["bytes_sent"] = cell.plan.bytes;
  row["verified"] = true;  // a round whose bytes are wrong ends the line as "failed"
  row["single_us"] = to_json(median_of(values.single));
  row["transfer_us"] = to_json(median_of(values.transfer));
  row["overhead"] = to_json(median_of(values.overhead));
  row["perceived_gbps"] = to_json(median_of(values.perceived));
  row["availability_percent"] = to_json(median_of(values.availability));
  row["early_bird_percent"] = to_json(median_of(values.early_bird));
  row["saved_us"] = to_json(median_of(values.saved));
  row["exposed_us"] = to_json(median_of(values.exposed));
  row["last_us"] = to_json(median_of(values.last));
  row["early_partitions_percent"] = median_of(values.early).value;
  row["begin_us"] = median_of(samples.begin_us).value;
  row["as_published"] = as_published(samples, cell.plan.bytes);
  row["timeline"] = timeline(samples.own);
  return row;
}

Json about(const Shape& shape) {
  return {{"pattern", name(shape.pattern)},
          {"grid", {shape.grid.x, shape.grid.y, shape.grid.z}},
          {"steps", shape.steps()}};
}

Json measured(const Cell& cell, const Setting& setting, const PatternSamples& samples) {
  Json row = axes(cell, setting);
  row["state"] = "measured";
  row["rounds"] = std::min(samples.own.size(), samples.single.size());
  row["steady"] = samples.is_steady;
  row["verified"] = true;  // a round whose results differ ends the line as "failed"
  row["faces"] = samples.own_moved.faces;
  row["bytes_sent"] = samples.own_moved.bytes;
  row["bytes_received"] = samples.own_moved.received;
  row["updates"] = samples.own_moved.updates;
  row["round_us"] = to_json(median_of(samples.own));
  row["single_us"] = to_json(median_of(samples.single));
  row["speedup"] = to_json(median_of(ratios(samples)));
  return row;
}

Json not_measured(const Cell& cell, const Setting& setting, const std::string& state, const std::string& why) {
  Json row = axes(cell, setting);
  row["state"] = state;
  row["why"] = why;
  return row;
}

}  // namespace sennit::bench::partitioned
