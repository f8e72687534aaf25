#include "path/timing.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace sennit::path {

namespace {

double microseconds(double bytes, double gbps) {
  return bytes / (gbps * 1e3);
}

double with_chunk(const Timing& timing, double bytes, std::uint64_t chunk) {
  const double round = double(chunk) * timing.blocks;
  return timing.startup_us + timing.fill_us_per_byte * std::min(bytes, round) +
         timing.round_us * std::ceil(bytes / round);
}

}  // namespace

Line fit(const machine::Curve& curve) {
  // Small copies all take about the same time, and the way from there to the full rate is a bend, not a line. Where
  // at least two copies take thrice the shortest time, only such copies tell the rate.
  double shortest = std::numeric_limits<double>::infinity();
  for (const auto& point : curve.points)
    if (point.us > 0) shortest = std::min(shortest, point.us);
  const auto long_enough = [&](const auto& point) { return point.us >= 3 * shortest; };
  const bool bends = std::ranges::count_if(curve.points, long_enough) >= 2;

  std::vector<double> trust(curve.points.size(), 1);
  for (std::size_t i = 0; i < trust.size(); ++i)
    if (curve.points[i].us <= 0 || (bends && !long_enough(curve.points[i]))) trust[i] = 0;
  Line line;
  // Four rounds of reweighting: enough for the weights to settle, few enough to do for every decision.
  for (int round = 0; round < 4; ++round) {
    double w = 0, wx = 0, wxx = 0, wy = 0, wxy = 0;
    for (std::size_t i = 0; i < curve.points.size(); ++i) {
      const double x = double(curve.points[i].bytes), y = curve.points[i].us;
      if (trust[i] == 0) continue;
      const double weight = trust[i] / (y * y);
      w += weight, wx += weight * x, wxx += weight * x * x, wy += weight * y, wxy += weight * x * y;
    }
    const double determinant = w * wxx - wx * wx;
    if (!(determinant > 1e-12 * w * wxx)) return {};
    double slope = (w * wxy - wx * wy) / determinant;
    double startup = (wy - slope * wx) / w;
    if (startup < 0) startup = 0, slope = wxy / wxx;
    if (!(slope > 0)) return {};
    line = {startup, 1 / (slope * 1e3)};

    // Errors within 5 % are the curve's own bend; beyond, a point counts the less the further off it is.
    for (std::size_t i = 0; i < curve.points.size(); ++i) {
      const machine::Curve::Point& point = curve.points[i];
      if (trust[i] == 0) continue;
      const double error = std::abs(startup + slope * double(point.bytes) - point.us) / point.us;
      trust[i] = error > 0.05 ? 0.05 / error : 1;
    }
  }
  return line;
}

double interpolate(const machine::Curve& curve, const Line& line, double bytes) {
  const auto& points = curve.points;
  if (points.empty()) return line.startup_us + microseconds(bytes, line.gbps);
  if (bytes <= double(points.front().bytes)) {
    const double startup = std::min(line.startup_us, points.front().us);
    return startup + (points.front().us - startup) * bytes / double(points.front().bytes);
  }
  if (bytes >= double(points.back().bytes))
    return points.back().us + microseconds(bytes - double(points.back().bytes), line.gbps);
  const auto above = std::ranges::upper_bound(points, bytes, {}, [](const auto& p) { return double(p.bytes); });
  const auto below = above - 1;
  const double part = (bytes - double(below->bytes)) / double(above->bytes - below->bytes);
  return below->us + part * (above->us - below->us);
}

Overhead overhead(const Timing& timing, double bytes) {
  if (timing.curve != nullptr) {
    const Line line{timing.startup_us, timing.gbps};
    return {interpolate(*timing.curve, line, bytes) - microseconds(bytes, timing.gbps), 0};
  }
  if (!timing.chunked) return {timing.startup_us, 0};
  const double best = timing.fill_us_per_byte > 0 ? std::sqrt(timing.round_us * bytes / timing.fill_us_per_byte)
                                                  : double(kLargestChunk);
  const std::uint64_t largest = std::max(timing.most_chunk, kSmallestChunk);
  const double chunk = std::clamp(best / timing.blocks, double(kSmallestChunk), double(largest));
  const std::uint64_t near = std::bit_floor(std::uint64_t(chunk));
  // Rounding up the last round, and having a single one, move the optimum of short messages by a power or two.
  Overhead found{with_chunk(timing, bytes, near), near};
  for (const std::uint64_t other : {near / 2, near * 2, near * 4}) {
    if (other < kSmallestChunk || other > largest) continue;
    const double cost = with_chunk(timing, bytes, other);
    if (cost < found.us) found = {cost, other};
  }
  return found;
}

double finish_us(const Timing& timing, double bytes, double gbps) {
  return overhead(timing, bytes).us + microseconds(bytes, gbps);
}

void take_apart(Timing& timing, const Line& measured, std::uint64_t chunk_bytes, double least_startup_us) {
  const double round = double(std::clamp(chunk_bytes, kSmallestChunk, kLargestChunk)) * timing.blocks;
  // The measurement may contradict the assumed costs; then it keeps at least most of its say in the rate, and
  // a startup no better than what a path of this kind can have.
  const double per_byte = 1 / (measured.gbps * 1e3);
  timing.gbps = 1e-3 / std::max(per_byte - timing.round_us / round, 0.85 * per_byte);
  timing.startup_us = std::max(measured.startup_us - timing.fill_us_per_byte * round,
                               std::min(measured.startup_us, least_startup_us));
}

}  // namespace sennit::path
