#include "sim/papers/helios_model.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "path/network.h"
#include "place/search.h"

namespace sennit::sim::helios {

ExchangeCosts open_mpi() {
  ExchangeCosts costs;
  costs.message_us = 20;
  costs.short_bytes = 4096;
  costs.short_us = 12;
  costs.staged_us = 3;
  costs.alike_bytes = 2048;
  costs.streams = kStreams;
  return costs;
}

place::Traffic Node::traffic(const Pattern& pattern, bool weighted, std::string_view order, double bytes) {
  std::string own;
  for (const char axis : order)
    if (std::string_view(pattern.axes).find(axis) != std::string_view::npos) own += axis;
  const bool bare = std::string_view(pattern.what).find(':') == std::string_view::npos;
  const std::string text =
      fmt::format("{}{}order={}{}", pattern.what, bare ? ":" : ",", own, weighted ? ",w=3" : ",w=1");
  return place::parse_pattern(text, bytes).value();
}

place::Map Node::map(const place::Traffic& traffic, place::Metric metric) const {
  const auto problem = place::Problem::create(traffic, graph_, kSlots, metric);
  place::Best best(1);
  place::search(*problem, {}, best);
  return best.first().map;
}

Result<double> Node::us(const place::Traffic& traffic, const place::Map& map, ExchangeCosts costs) const {
  costs.most_gbps = [&](int from, int to) { return level_gbps(from, to); };
  const auto played = exchange(fabric_, traffic.talks(), places_of(fabric_, graph_, kSlots, map, 16), costs);
  if (!played) return played.status();
  return played->us;
}

place::Map Node::plain() {
  place::Map map;
  for (int rank = 0; rank < 16; ++rank) map.push_back(rank);
  return map;
}

double Node::level_gbps(int from, int to) const {
  int a = 0, b = 0;
  for (int gpu = 0; gpu < graph_.gpus(); ++gpu) {
    if (graph_.device(gpu) == from) a = gpu;
    if (graph_.device(gpu) == to) b = gpu;
  }
  return kLevelGbps[std::size_t(graph_.level(a, b))];
}

Result<Figures> figures_of(const Node& node, std::string_view order) {
  Figures figures;
  for (std::size_t i = 0; i < kPatterns.size(); ++i)
    for (const bool weighted : {false, true}) {
      std::array<place::Map, 3> maps;
      for (std::size_t m = 0; m < kMaps.size(); ++m)
        maps[m] = node.map(Node::traffic(kPatterns[i], weighted, order, 1), kMaps[m]);
      for (double bytes = kSmallest; bytes <= kLargest; bytes *= 2) {
        const place::Traffic traffic = Node::traffic(kPatterns[i], weighted, order, bytes);
        Point point{bytes, 0, {}};
        const auto plain = node.us(traffic, Node::plain());
        if (!plain) return plain.status();
        point.plain_us = *plain;
        for (std::size_t m = 0; m < kMaps.size(); ++m) {
          const auto mapped = node.us(traffic, maps[m]);
          if (!mapped) return mapped.status();
          point.us[m] = *mapped;
        }
        figures[i][weighted ? 1 : 0].push_back(point);
      }
    }
  return figures;
}

bool fits_figure_3(const Gains& gains) {
  return gains[kStencil][0] > 2 && gains[kTorus3][0] > 2 && gains[kTorus2][0] < 10 && gains[kHypercube][0] < 10;
}
bool fits_figure_4(const Gains& gains) {
  return std::ranges::all_of(gains, [](const auto& each) { return each[1] > 2; });
}
bool fits_figure_5(const Gains& gains) {
  return gains[kTorus2][1] >= gains[kHypercube][1] &&
         std::ranges::all_of(gains, [&](const auto& each) { return each[1] >= gains[kTorus3][1]; });
}

Result<std::vector<Numbering>> numberings(const Node& node) {
  std::vector<Numbering> all;
  std::string order = "txyz";
  std::ranges::sort(order);
  std::map<std::string, double> known;  // by pattern, weight and its own part of the order
  do {
    Numbering numbering{order, {}, 0};
    for (std::size_t i = 0; i < kPatterns.size(); ++i)
      for (const bool weighted : {false, true}) {
        std::string key = fmt::format("{}{}", i, weighted);
        for (const char axis : order)
          if (std::string_view(kPatterns[i].axes).find(axis) != std::string_view::npos) key += axis;
        if (!known.contains(key)) {
          const place::Traffic traffic = Node::traffic(kPatterns[i], weighted, order, kAt);
          const auto before = node.us(traffic, Node::plain());
          if (!before) return before.status();
          const auto after = node.us(traffic, node.map(traffic, place::Metric::distance));
          if (!after) return after.status();
          known[key] = (1 - *after / *before) * 100;
        }
        numbering.gains[i][weighted ? 1 : 0] = known[key];
      }
    numbering.figures = int(fits_figure_3(numbering.gains)) + int(fits_figure_4(numbering.gains)) +
                        int(fits_figure_5(numbering.gains));
    all.push_back(std::move(numbering));
  } while (std::ranges::next_permutation(order).found);
  return all;
}

const Numbering& best_of(const std::vector<Numbering>& all) {
  return *std::ranges::max_element(all, {}, &Numbering::figures);
}

namespace {

/// What changes where something of the model does: the gain of a weighted pattern by the distance map, in per cent.
Result<double> gain_with(const Node& node, Which pattern, std::string_view order, double bytes,
                         const ExchangeCosts& costs) {
  const place::Traffic traffic = Node::traffic(kPatterns[pattern], true, order, bytes);
  const auto before = node.us(traffic, Node::plain(), costs);
  if (!before) return before.status();
  const auto after = node.us(traffic, node.map(traffic, place::Metric::distance), costs);
  if (!after) return after.status();
  return (1 - *after / *before) * 100;
}

}  // namespace

Result<Experiments> experiments(const Node& node, std::string_view order) {
  Experiments found;
  ExchangeCosts costs = open_mpi();
  Status failed;
  const auto gain = [&](Which pattern, double bytes) {
    const auto each = gain_with(node, pattern, order, bytes, costs);
    if (!each) failed = each.status();
    return each ? *each : 0;
  };
  costs.streams = 1;
  found.in_turns = gain(kStencil, kLargest);
  costs.streams = 0;
  found.at_once = gain(kStencil, kLargest);
  costs = open_mpi();
  costs.short_bytes = 64 << 10;
  for (std::size_t i = 0; i < kPatterns.size(); ++i) found.eager[i] = gain(Which(i), 8 << 10);
  costs = open_mpi();
  costs.message_us = costs.short_us = costs.staged_us = 0;
  found.torus = gain(kTorus2, 64 << 10);
  found.hypercube = gain(kHypercube, 64 << 10);
  if (!failed.ok()) return failed;
  return found;
}

void add_curves(machine::Machine& machine) {
  const path::Network network(machine);
  const auto graph = place::DeviceGraph::create(network);
  if (!graph) return;
  const ExchangeCosts costs = open_mpi();
  std::vector<machine::Curve> curves;
  for (int a = 0; a < graph->gpus(); ++a)
    for (int b = 0; b < graph->gpus(); ++b) {
      if (a == b) continue;
      const int level = graph->level(a, b);
      for (const auto traffic : {machine::Traffic::one_way, machine::Traffic::both_ways}) {
        machine::Curve curve{network.device(graph->device(a)).id,
                             network.device(graph->device(b)).id,
                             machine::Method::engine,
                             traffic,
                             {}};
        for (double bytes = kSmallest; bytes <= kLargest; bytes *= 2) {
          const bool staged = graph->staged_by(a, b) >= 0 && bytes > costs.alike_bytes;
          const double us = (bytes <= costs.short_bytes ? costs.short_us : costs.message_us) +
                            (staged ? costs.staged_us : 0) + bytes / (kLevelGbps[std::size_t(level)] * 1e3);
          curve.points.push_back({std::uint64_t(bytes), us, 0, 1});
        }
        curves.push_back(std::move(curve));
      }
    }
  machine.curves = std::move(curves);
}

}  // namespace sennit::sim::helios
