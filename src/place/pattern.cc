#include "place/pattern.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "base/units.h"

namespace sennit::place {

namespace {

constexpr int kMostAllPairs = 1024;              // limit: a million messages
constexpr std::string_view kAxes = "xyztuvwrs";  // of grids; more than nine dimensions have more than 4 096 ranks

/// A ring allreduce of `bytes` among ranks: each sends 2 (n - 1) / n of them to the next one.
void add_ring(Traffic& traffic, const std::vector<int>& ranks, double bytes) {
  const auto n = double(ranks.size());
  if (ranks.size() < 2) return;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    traffic.add(ranks[i], ranks[(i + 1) % ranks.size()], 2 * (n - 1) / n * bytes, 2 * (n - 1));
}

Status bad(std::string what) {
  return Status(Code::invalid_argument, std::move(what), {},
                "Write a pattern such as 2d-stencil:4x4, 2d-torus:4x4, 3d-torus:4x2x2,w=3, 4d-hypercube, ring:16, "
                "all-pairs:8 or parallel:tp=2,pp=4,dp=2");
}

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto end = text.find(by);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// A whole number of at least 1 that is no more than ranks may be.
std::optional<int> count_in(std::string_view text) {
  int value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || rest != text.data() + text.size() || value < 1 || value > kMostRanks) return {};
  return value;
}

std::optional<double> weight_in(std::string_view text) {
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || rest != text.data() + text.size() || !(value >= 0) || value > 1e9) return {};
  return value;
}

using Options = std::vector<std::pair<std::string_view, std::string_view>>;

Result<Options> options_in(const std::vector<std::string_view>& parts, std::string_view text) {
  Options options;
  for (const std::string_view part : parts) {
    const auto equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return bad(fmt::format("'{}' in pattern '{}' is no option", part, text));
    options.emplace_back(part.substr(0, equals), part.substr(equals + 1));
  }
  return options;
}

Result<Traffic> parse_parallel(const std::vector<std::string_view>& parts, std::string_view text, double bytes) {
  const auto options = options_in(parts, text);
  if (!options) return options.status();
  Parallel parallel{1, 1, 1, bytes, bytes, bytes};
  for (const auto& [name, value] : *options) {
    int* const extent = name == "tp"   ? &parallel.tp
                        : name == "pp" ? &parallel.pp
                        : name == "dp" ? &parallel.dp
                                       : nullptr;
    double* const size = name == "tp_bytes"   ? &parallel.tp_bytes
                         : name == "pp_bytes" ? &parallel.pp_bytes
                         : name == "dp_bytes" ? &parallel.dp_bytes
                                              : nullptr;
    if (extent != nullptr) {
      const auto count = count_in(value);
      if (!count) return bad(fmt::format("'{}={}' in pattern '{}' is no number of ranks", name, value, text));
      *extent = *count;
    } else if (size != nullptr) {
      const auto given = parse_bytes(value);
      if (!given) return bad(fmt::format("'{}={}' in pattern '{}' is no size", name, value, text));
      *size = double(*given);
    } else {
      return bad(fmt::format("pattern '{}' has no option '{}': it has tp, pp, dp, tp_bytes, pp_bytes, dp_bytes", text,
                             name));
    }
  }
  if (double(parallel.tp) * parallel.pp * parallel.dp > kMostRanks)
    return bad(fmt::format("pattern '{}' has more than {} ranks", text, kMostRanks));
  return traffic_of(parallel);
}

Status set_option(Grid& grid, std::string_view name, std::string_view value, std::string_view text) {
  const std::string_view axes = kAxes.substr(0, grid.extents.size());
  if (name == "w") {
    const auto weight = weight_in(value);
    if (!weight) return bad(fmt::format("'w={}' in pattern '{}' is no weight", value, text));
    grid.weight = *weight;
    return {};
  }
  if (name == "heavy" && value.size() == 1 && axes.find(value) != std::string_view::npos) {
    grid.heavy = int(axes.find(value));
    return {};
  }
  if (name == "order" && value.size() == axes.size() &&
      std::ranges::all_of(axes, [&](char axis) { return std::ranges::count(value, axis) == 1; })) {
    grid.order.clear();
    for (const char axis : value) grid.order.push_back(int(axes.find(axis)));
    return {};
  }
  return bad(
      fmt::format("'{}={}' in pattern '{}' is no option of a grid: w=3, heavy=x, order={}", name, value, text, axes));
}

}  // namespace

Traffic traffic_of(const Grid& grid, double bytes) {
  const std::size_t dimensions = grid.extents.size();
  const int ranks = std::accumulate(grid.extents.begin(), grid.extents.end(), 1, std::multiplies<>());
  std::vector<int> stride(dimensions, 1);
  int below = 1;
  for (std::size_t i = dimensions; i-- > 0;) {
    const auto dimension = grid.order.empty() ? i : std::size_t(grid.order[i]);
    stride[dimension] = below;
    below *= grid.extents[dimension];
  }
  Traffic traffic(ranks);
  for (int rank = 0; rank < ranks; ++rank)
    for (std::size_t d = 0; d < dimensions; ++d) {
      const int extent = grid.extents[d], at = rank / stride[d] % extent;
      for (const int step : {-1, 1}) {
        if (extent == 2 && step > 0 && !grid.twice) continue;
        const int other = grid.wraps ? (at + step + extent) % extent : at + step;
        if (other < 0 || other >= extent) continue;
        traffic.add(rank, rank + (other - at) * stride[d], int(d) == grid.heavy ? bytes * grid.weight : bytes);
      }
    }
  return traffic;
}

Traffic traffic_of(const Parallel& parallel) {
  const int tp = parallel.tp, dp = parallel.dp, pp = parallel.pp;
  Traffic traffic(tp * dp * pp);
  const auto rank = [&](int t, int d, int p) { return (p * dp + d) * tp + t; };
  for (int p = 0; p < pp; ++p)
    for (int d = 0; d < dp; ++d) {
      std::vector<int> group;
      for (int t = 0; t < tp; ++t) group.push_back(rank(t, d, p));
      add_ring(traffic, group, parallel.tp_bytes);
    }
  for (int p = 0; p < pp; ++p)
    for (int t = 0; t < tp; ++t) {
      std::vector<int> group;
      for (int d = 0; d < dp; ++d) group.push_back(rank(t, d, p));
      add_ring(traffic, group, parallel.dp_bytes);
    }
  for (int p = 0; p + 1 < pp; ++p)
    for (int d = 0; d < dp; ++d)
      for (int t = 0; t < tp; ++t) {
        traffic.add(rank(t, d, p), rank(t, d, p + 1), parallel.pp_bytes);
        traffic.add(rank(t, d, p + 1), rank(t, d, p), parallel.pp_bytes);
      }
  return traffic;
}

Result<Traffic> parse_pattern(std::string_view text, double bytes) {
  const auto colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  std::vector<std::string_view> parts =
      colon == std::string_view::npos ? std::vector<std::string_view>{} : split(text.substr(colon + 1), ',');
  if (name == "parallel") return parse_parallel(parts, text, bytes);

  std::string_view kind = name;
  std::size_t dimensions = 0;  // that the name says
  if (const auto dash = name.find("d-"); dash == 1 && name[0] >= '1' && name[0] <= '9') {
    dimensions = std::size_t(name[0] - '0');
    kind = name.substr(3);
  }
  const bool is_hypercube = kind == "hypercube", is_one = kind == "ring" || kind == "all-pairs";
  if ((kind != "stencil" && kind != "torus" && !is_hypercube && !is_one) || (is_one && dimensions != 0))
    return bad(fmt::format("there is no pattern '{}'", name));
  Grid grid;
  grid.wraps = kind != "stencil";
  std::vector<int> extents;
  if (!parts.empty() && parts.front().find('=') == std::string_view::npos) {
    for (const std::string_view part : split(parts.front(), 'x')) {
      const auto extent = count_in(part);
      if (!extent) return bad(fmt::format("'{}' in pattern '{}' is no number of ranks", part, text));
      extents.push_back(*extent);
    }
    parts.erase(parts.begin());
  }
  double ranks = 1;
  for (const int extent : extents) ranks *= extent;
  if (ranks > kMostRanks) return bad(fmt::format("pattern '{}' has more than {} ranks", text, kMostRanks));
  if (is_hypercube) {
    if (extents.size() > 1 || (extents.empty() && dimensions == 0))
      return bad(fmt::format("pattern '{}' has to say how many ranks it has: 4d-hypercube, hypercube:16", text));
    if (dimensions == 0)
      while ((1 << dimensions) < extents.front()) ++dimensions;
    if (!extents.empty() && (1 << dimensions) != extents.front())
      return bad(fmt::format("pattern '{}': {} ranks are no hypercube", text, extents.front()));
    extents.assign(dimensions, 2);
    grid.twice = false;
    grid.heavy = int(dimensions) - 1;
  } else {
    if (extents.empty() || (dimensions != 0 && extents.size() != dimensions) || extents.size() > kAxes.size() ||
        (is_one && extents.size() != 1))
      return bad(fmt::format("pattern '{}' has to say how many ranks each dimension has", text));
    grid.heavy = 0;
  }
  grid.extents = extents;
  const auto options = options_in(parts, text);
  if (!options) return options.status();
  if (kind == "all-pairs") {
    if (!options->empty()) return bad(fmt::format("pattern '{}' has no options", text));
    if (extents.front() > kMostAllPairs)
      return bad(fmt::format("pattern '{}' has more than {} ranks, a message for every two", text, kMostAllPairs));
    Traffic traffic(extents.front());
    for (int step = 1; step < extents.front(); ++step)
      for (int rank = 0; rank < extents.front(); ++rank) traffic.add(rank, (rank + step) % extents.front(), bytes);
    return traffic;
  }
  for (const auto& [option, value] : *options)
    if (auto status = set_option(grid, option, value, text); !status) return status;
  return traffic_of(grid, bytes);
}

}  // namespace sennit::place
