#include "bench/mpi/result.h"

#include <fmt/format.h>

#include "base/units.h"

namespace sennit::bench::mpi {

namespace {

/// A default: where repeated times differ by more than this part of the median, a ratio of 1.1 says little.
constexpr double kUnsteady = 0.1;

}  // namespace

double gbps(const Layout& layout, double median_us) {
  const int ways = is_bidirectional(layout.what.operation) ? 2 : layout.pairs();
  return gigabytes_per_second(layout.what.bytes, median_us) * ways;
}

Json to_json(const Layout& layout, const Variant& variant, const Numbers& numbers, const Times& times) {
  const Case& what = layout.what;
  const measure::Summary& time = times.summary;
  Json row = {{"operation", name(what.benchmark())},
              {"osu", osu_name(what.benchmark())},
              {"variant", variant.name},
              {"buffers", has_size(what.operation) ? name(what.buffers) : ""},
              {"bytes", what.bytes},
              {"window", what.window},
              {"in_place", what.in_place},
              {"type", is_atomic(what.operation) ? "int64" : numbers.type},
              {"operator", reduces(what.operation) ? device::name(numbers.reduction.op) : ""},
              {"ranks", layout.size},
              {"nodes", layout.nodes},
              {"calls", times.calls},
              {"repetitions", time.repetitions},
              {"median_us", time.median_us},
              {"spread_us", time.spread_us},
              {"min_us", time.min_us},
              {"p95_us", time.p95_us},
              {"gbps", gbps(layout, time.median_us)},
              {"verified", has_size(what.operation)}};
  if (times.against.ratio > 0)
    row["sennit"] = {
        {"times_as_fast", times.against.ratio}, {"low", times.against.low}, {"high", times.against.high}};
  return row;
}

Json map_to_json(const Layout& layout, const PatternMap& mapped, const Numbers& numbers, const Times& times) {
  Json row = to_json(layout, mapped.variant, numbers, {times.summary, times.calls, {}});
  row["gbps"] =
      gigabytes_per_second(static_cast<std::uint64_t>(layout.what.pattern->traffic.bytes()), times.summary.median_us);
  row["pattern"] = layout.what.pattern->name;
  row["over"] = name(layout.what.over);
  row["map"] = mapped.variant.map;
  row["predicted_us"] = mapped.predicted_us;
  row["links_us"] = mapped.links_us;
  row["found_ms"] = mapped.found_ms;
  if (times.against.ratio > 0)
    row["saved"] = {
        {"part", 1 - times.against.ratio}, {"low", 1 - times.against.high}, {"high", 1 - times.against.low}};
  return row;
}

std::vector<std::string> unsteady(const Json& rows) {
  std::size_t count = 0;
  for (const Json& row : rows)
    if (row.at("spread_us").get<double>() > kUnsteady * row.at("median_us").get<double>()) ++count;
  if (count == 0) return {};
  return {
      fmt::format("{} of {} times spread by more than {:.0f} % of their median: another job may use this machine, "
                  "or there are more ranks than cores; ratios are of neighbouring batches and say more.",
                  count, rows.size(), 100 * kUnsteady)};
}

}  // namespace sennit::bench::mpi
