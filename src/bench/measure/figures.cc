#include "bench/measure/figures.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/units.h"
#include "machine/discover.h"
#include "path/network.h"

namespace sennit::bench::measure {

using machine::Curve;
using machine::Figure;
using machine::Link;
using machine::Machine;
using machine::Method;
using machine::Source;
using machine::Traffic;

double rounded(double value) {
  return std::abs(value) < 1e9 ? std::round(value * 1e3) / 1e3 : value;
}

std::string measured_note(int repetitions, std::string_view what) {
  return fmt::format("{}, median of {}: {}", machine::today(), repetitions, what);
}

Figure rate_figure(std::uint64_t bytes, const Summary& summary, std::string_view what) {
  const double gbps = gigabytes_per_second(bytes, summary.median_us);
  const double spread = summary.median_us > 0 ? gbps * summary.spread_us / summary.median_us : 0;
  return {rounded(gbps), Source::measured, rounded(spread), measured_note(summary.repetitions, what)};
}

Figure rate_figure(const Curve::Point& point, std::string_view what, double times) {
  Summary summary;
  summary.median_us = point.us, summary.spread_us = point.spread_us, summary.repetitions = point.repetitions;
  Figure figure = rate_figure(point.bytes, summary, what);
  figure.value = rounded(figure.value * times), figure.spread = rounded(figure.spread * times);
  return figure;
}

Figure time_figure(const Curve::Point& point, std::string_view what, double part) {
  return {rounded(point.us * part), Source::measured, rounded(point.spread_us * part),
          measured_note(point.repetitions, what)};
}

namespace {

/// Holds what copies said about one direction of one link, and about both together.
struct Said {
  std::optional<Figure> rate, both, latency;
};

void keep_most(std::optional<Figure>& kept, Figure figure) {
  if (!kept || figure.value > kept->value) kept = std::move(figure);
}

void keep_least(std::optional<Figure>& kept, Figure figure) {
  if (!kept || figure.value < kept->value) kept = std::move(figure);
}

}  // namespace

void apply_curves(Machine& machine) {
  const path::Network network(machine);
  std::vector<Said> said(network.arcs().size());
  for (const Curve& curve : machine.curves) {
    if (curve.method != Method::engine || curve.traffic == Traffic::all_at_once || curve.points.empty()) continue;
    const path::Hop hop = network.find_hop(network.index(curve.from), network.index(curve.to));
    const auto& smallest = curve.points.front();
    const auto& largest = curve.points.back();
    const std::string what =
        fmt::format("{} to {} by copy engine, {}", curve.from, curve.to, format_bytes(largest.bytes));
    for (const int arc : hop.arcs) {
      Said& one = said[std::size_t(arc)];
      const bool narrowest = network.arcs()[std::size_t(arc)].gbps <= hop.gbps;
      if (curve.traffic == Traffic::both_ways) {
        if (narrowest) keep_most(one.both, rate_figure(largest, what + " each way at once, sum", 2));
        continue;
      }
      if (narrowest) keep_most(one.rate, rate_figure(largest, what));
      keep_least(one.latency,
                 time_figure(smallest,
                             fmt::format("{} to {} by copy engine, {}, call to completion{}", curve.from, curve.to,
                                         format_bytes(smallest.bytes),
                                         hop.arcs.size() > 1 ? fmt::format(", shared among {} links", hop.arcs.size())
                                                             : std::string()),
                             1 / double(hop.arcs.size())));
    }
  }
  for (std::size_t i = 0; i < machine.links.size(); ++i) {
    Link& link = machine.links[i];
    Said &forward = said[2 * i], &backward = said[2 * i + 1];
    if (forward.rate) link.forward_gbps = *forward.rate;
    if (backward.rate) link.backward_gbps = *backward.rate;
    for (Said* one : {&forward, &backward})
      if (one->both &&
          (!link.both_gbps || link.both_gbps->source != Source::measured || one->both->value > link.both_gbps->value))
        link.both_gbps = one->both;
    if (forward.latency || backward.latency) {
      if (forward.latency && backward.latency) keep_least(forward.latency, *backward.latency);
      link.latency_us = forward.latency ? forward.latency : backward.latency;
    }
  }
}

std::vector<std::string> unsteady(const Machine& machine) {
  std::vector<std::string> found;
  for (const Curve& curve : machine.curves) {
    if (curve.points.empty()) continue;
    const Curve::Point& largest = curve.points.back();
    if (!(largest.spread_us > 0.1 * largest.us)) continue;
    found.push_back(fmt::format("{} → {} ({}, {:.0f} %)", curve.from, curve.to, format_bytes(largest.bytes),
                                100 * largest.spread_us / largest.us));
  }
  return found;
}

}  // namespace sennit::bench::measure
