// Faraji, Mirsadeghi and Afsahi 2016: which process should use which of sixteen GPUs, for four patterns of
// neighbours. Traffic, metrics and maps are place/'s, the exchange is sim/exchange.h; here is what the paper did with
// them, and what its figures say.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "base/units.h"
#include "place/device_graph.h"
#include "place/pattern.h"
#include "place/search.h"
#include "sim/choose_map.h"
#include "sim/costs.h"
#include "sim/papers/study.h"

namespace sennit::sim {

namespace {

/// What one copy gets at each level of figure 1, in GB/s. Assumed but for the first, a board's own switch, and the
/// last, what NCCL counts for QPI: the paper's figure 2 shows that they differ, without numbers.
constexpr std::array<double, 4> kLevelGbps = {12.5, 11, 9, 6};
constexpr int kStreams = 3;          // messages of a process under way at a time: fitted to the 59 %
constexpr double kMappingUs = 1200;  // what a mapping takes the paper: one exchange above 2 MB pays for it

/// Open MPI 1.8.8, as far as its figures show it. Up to 4 KiB a message is sent eagerly through host memory; longer
/// ones are copied from GPU to GPU, through host memory between sockets, where the driver gives no peer access. Up to
/// 2 KiB all pairs are alike (figure 2).
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

constexpr double kSmallest = 1 << 10, kLargest = 16 << 20;  // figures 3, 4 and 5: fifteen sizes
constexpr double kAt = 1 << 20;                             // where numberings are compared
constexpr std::array<place::Metric, 3> kMaps = {place::Metric::latency, place::Metric::bandwidth,
                                                place::Metric::distance};

struct Pattern {
  const char* name;
  const char* what;
  const char* axes;
};
constexpr std::array<Pattern, 4> kPatterns = {{{"2D stencil", "2d-stencil:4x4", "xy"},
                                               {"2D torus", "2d-torus:4x4", "xy"},
                                               {"3D torus", "3d-torus:4x2x2", "xyz"},
                                               {"4D hypercube", "4d-hypercube", "xyzt"}}};
enum Which { kStencil, kTorus2, kTorus3, kHypercube };

/// The paper's node, and what its processes take there.
class Node {
 public:
  Node(const Fabric& fabric, place::DeviceGraph graph) : fabric_(fabric), graph_(std::move(graph)) {}

  const place::DeviceGraph& graph() const { return graph_; }
  /// By the numbering `order` (the slowest dimension first), of which a pattern has a part.
  static place::Traffic traffic(const Pattern& pattern, bool weighted, std::string_view order, double bytes) {
    std::string own;
    for (const char axis : order)
      if (std::string_view(pattern.axes).find(axis) != std::string_view::npos) own += axis;
    const bool bare = std::string_view(pattern.what).find(':') == std::string_view::npos;
    const std::string text =
        fmt::format("{}{}order={}{}", pattern.what, bare ? ":" : ",", own, weighted ? ",w=3" : ",w=1");
    return place::parse_pattern(text, bytes).value();
  }
  place::Map map(const place::Traffic& traffic, place::Metric metric) const {
    const auto problem = place::Problem::create(traffic, graph_, kSlots, metric);
    place::Best best(1);
    place::search(*problem, {}, best);
    return best.first().map;
  }
  Result<double> us(const place::Traffic& traffic, const place::Map& map, ExchangeCosts costs = open_mpi()) const {
    costs.most_gbps = [&](int from, int to) { return level_gbps(from, to); };
    const auto played = exchange(fabric_, traffic.talks(), places_of(fabric_, graph_, kSlots, map, 16), costs);
    if (!played) return played.status();
    return played->us;
  }
  static place::Map plain() {
    place::Map map;
    for (int rank = 0; rank < 16; ++rank) map.push_back(rank);
    return map;
  }

 private:
  /// Of two GPUs by their devices.
  double level_gbps(int from, int to) const {
    int a = 0, b = 0;
    for (int gpu = 0; gpu < graph_.gpus(); ++gpu) {
      if (graph_.device(gpu) == from) a = gpu;
      if (graph_.device(gpu) == to) b = gpu;
    }
    return kLevelGbps[std::size_t(graph_.level(a, b))];
  }

  static constexpr place::Slots kSlots{1, 16, 1};
  const Fabric& fabric_;
  place::DeviceGraph graph_;
};

/// What one pattern takes at one size, with each map.
struct Point {
  double bytes = 0, plain_us = 0;
  std::array<double, 3> us{};

  double gain(std::size_t map) const { return (1 - us[map] / plain_us) * 100; }
  /// Exchanges until the mapping has paid; 0: it never does.
  double pays(std::size_t map) const { return us[map] < plain_us ? std::ceil(kMappingUs / (plain_us - us[map])) : 0; }
};
using Curve = std::vector<Point>;
/// Of each pattern, without and with weight.
using Figures = std::array<std::array<Curve, 2>, 4>;

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

/// The gains of the patterns at one size by the distance map, without and with weight.
using Gains = std::array<std::array<double, 2>, 4>;

bool fits_figure_3(const Gains& gains) {
  return gains[kStencil][0] > 2 && gains[kTorus3][0] > 2 && gains[kTorus2][0] < 10 && gains[kHypercube][0] < 10;
}
bool fits_figure_4(const Gains& gains) {
  return std::ranges::all_of(gains, [](const auto& each) { return each[1] > 2; });
}
/// Of the weighted patterns the 3D torus gains least, so it takes the most exchanges to pay; the 2D torus more than
/// the hypercube, which has as many messages.
bool fits_figure_5(const Gains& gains) {
  return gains[kTorus2][1] >= gains[kHypercube][1] &&
         std::ranges::all_of(gains, [&](const auto& each) { return each[1] >= gains[kTorus3][1]; });
}

struct Numbering {
  std::string order;
  Gains gains{};
  int figures = 0;  ///< that it fits, of three
};

/// All orders of the dimensions x, y, z and t, and what the patterns gain with each.
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

/// The dimensions that fit most figures; of orders alike the first, by their letters.
const Numbering& best_of(const std::vector<Numbering>& all) {
  return *std::ranges::max_element(all, {}, &Numbering::figures);
}

double mean(const Curve& curve, double from, double to, std::size_t map) {
  double sum = 0;
  int points = 0;
  for (const Point& point : curve)
    if (point.bytes >= from && point.bytes <= to) sum += point.gain(map), ++points;
  return sum / points;
}

/// "1K 0, 2K 3, …": gains in per cent.
std::string told(const Curve& curve, double from, double to, std::size_t map) {
  std::string text;
  for (const Point& point : curve)
    if (point.bytes >= from && point.bytes <= to)
      text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ", format_bytes(std::uint64_t(point.bytes)),
                          point.gain(map));
  return text;
}

constexpr std::size_t kDistance = 2;  // of kMaps
constexpr const char* kFigure2 = "GPU selection, figure 2";
constexpr const char* kFigure3 = "GPU selection, figure 3";
constexpr const char* kFigure4 = "GPU selection, figure 4";
constexpr const char* kFigure5 = "GPU selection, figure 5";

void add_series(Study& study, const Figures& figures) {
  for (const bool weighted : {false, true})
    for (std::size_t i = 0; i < kPatterns.size(); ++i)
      for (std::size_t m = 0; m < kMaps.size(); ++m) {
        Series gain{
            weighted ? kFigure4 : kFigure3, fmt::format("{}, {}", kPatterns[i].name, place::name(kMaps[m])), "%", {}};
        for (const Point& point : figures[i][weighted ? 1 : 0]) gain.points.emplace_back(point.bytes, point.gain(m));
        study.series.push_back(std::move(gain));
      }
  for (std::size_t i = 0; i < kPatterns.size(); ++i) {
    Series pays{kFigure5, fmt::format("{}, {}", kPatterns[i].name, place::name(kMaps[kDistance])), "exchanges", {}};
    for (const Point& point : figures[i][1]) pays.points.emplace_back(point.bytes, point.pays(kDistance));
    study.series.push_back(std::move(pays));
  }
}

/// Section III: four levels of distance, and what they do to a copy.
void add_levels(Study& study, const Node& node) {
  const place::DeviceGraph& graph = node.graph();
  constexpr int kOther[] = {1, 2, 4, 8};  // of GPU 0 at each level
  study.claims.push_back({"GPU selection, figure 1", "GPUs are at four levels of distance", graph.levels() == 4,
                          fmt::format("{} levels", graph.levels())});
  const auto apart = [&](double bytes) {
    return graph.copy_us(0, kOther[3], bytes, false) - graph.copy_us(0, kOther[0], bytes, false);
  };
  study.claims.push_back(
      {kFigure2, "levels differ above 2 KB, ever more with size",
       apart(2048) < 1 && apart(4096) < apart(65536) && apart(65536) < apart(1 << 20),
       fmt::format("level 3 takes {:.1f} µs longer than level 0 at 2 KiB, {:.1f} at 4 KiB, {:.1f} at "
                   "64 KiB, {:.0f} at 1 MiB",
                   apart(2048), apart(4096), apart(65536), apart(1 << 20)),
       "Assumed so."});
  bool nearer = true;
  std::string text;
  for (const place::Metric metric : kMaps) {
    text += fmt::format("{}{}", text.empty() ? "" : "; ", place::name(metric));
    for (int level = 0; level < 4; ++level) {
      const double close = graph.closeness(metric, 0, kOther[level]);
      text += fmt::format(" {:.2f}", close);
      nearer = nearer && (level == 0 || close <= graph.closeness(metric, 0, kOther[level - 1]));
    }
  }
  study.claims.push_back({"GPU selection, section IV", "three metrics, each the larger the nearer", nearer, text});
}

/// Figure 2, as the metrics read it: copies of each pair by size, one way and both ways at once.
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

/// The paper does not say how ranks lie in their grids. The fastest dimension is where neighbours share a board.
void add_numberings(Study& study, const std::vector<Numbering>& all, const Numbering& best) {
  std::string alike;
  int fitting = 0, figure_3 = 0;
  for (const Numbering& each : all) {
    figure_3 += fits_figure_3(each.gains);
    if (each.figures < best.figures) continue;
    ++fitting;
    alike += (alike.empty() ? "" : ", ") + each.order;
  }
  study.claims.push_back({"GPU selection, figures 3, 4 and 5", "one numbering of ranks fits all three",
                          best.figures == 3,
                          fmt::format("{} of {} orders of dimensions do ({}; the slowest first), {} fit figure 3",
                                      fitting, all.size(), alike, figure_3),
                          fmt::format("The best fit {} of three.", best.figures)});
}

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

struct Experiments {
  double in_turns = 0, at_once = 0;  ///< the stencil at 16 MiB, one message at a time, or all
  std::array<double, 4> eager{};     ///< each pattern at 8 KiB with an eager limit of 64 KiB
  double torus = 0, hypercube = 0;   ///< at 64 KiB, without a message's own time
};
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

/// Section V.B, figures 3 and 4.
void add_gains(Study& study, const Figures& figures, const Experiments& tried) {
  double most = 0;
  const Point* at = nullptr;
  for (const auto& each : figures)
    for (const Point& point : each[1])
      for (std::size_t m = 0; m < kMaps.size(); ++m)
        if (point.gain(m) > most) most = point.gain(m), at = &point;
  study.numbers.push_back(
      {"GPU selection, abstract", "most that a mapping gains, weighted", "%", 59, most, 0.1, false,
       fmt::format(
           "Of four patterns and fifteen sizes; here at {}. Messages that leave one after the other give {:.0f} "
           "%, all at once {:.0f} %.",
           at == nullptr ? "none" : format_bytes(std::uint64_t(at->bytes)), tried.in_turns, tried.at_once),
       true});
  for (std::size_t i = 0; i < kPatterns.size(); ++i) {
    const bool symmetric = i == kTorus2 || i == kHypercube;
    const double large = mean(figures[i][0], 32 << 10, kLargest, kDistance);
    study.claims.push_back(
        {kFigure3,
         fmt::format("not weighted, {} gains {}", kPatterns[i].name, symmetric ? "little or nothing" : "above 16 KB"),
         symmetric ? large < 10 : large > 5, told(figures[i][0], 16 << 10, kLargest, kDistance),
         "Of no numbering is this so for messages that leave one after the other."});
  }
  for (std::size_t i = 0; i < kPatterns.size(); ++i) {
    if (i == kTorus3) continue;
    const bool holds = std::ranges::all_of(
        figures[i][1], [](const Point& point) { return point.bytes <= 2048 || point.gain(kDistance) > 2; });
    study.claims.push_back({kFigure4, fmt::format("weighted, {} gains above 2 KB", kPatterns[i].name), holds,
                            told(figures[i][1], kSmallest, kLargest, kDistance),
                            fmt::format("Messages of 8 to 24 KiB take what a call takes here, near or far. With an "
                                        "eager limit of 64 KiB it gains {:.0f} % at 8 KiB.",
                                        tried.eager[i])});
  }
  const Curve& torus = figures[kTorus3][1];
  study.claims.push_back({kFigure4, "weighted, 3D torus gains, but for 4 KB to 32 KB",
                          mean(torus, 64 << 10, kLargest, kDistance) > 2 &&
                              mean(torus, 4 << 10, 32 << 10, kDistance) < mean(torus, 64 << 10, kLargest, kDistance),
                          told(torus, kSmallest, kLargest, kDistance),
                          "What is to be gained is small at all sizes: x lies within a socket already."});
  // Messages of three times the size are beyond the switch before the others are.
  bool dips = false;
  std::string where;
  for (std::size_t i = 0; i < kPatterns.size(); ++i)
    for (std::size_t p = 1; p + 1 < figures[i][1].size(); ++p) {
      const Curve& curve = figures[i][1];
      if (curve[p].bytes < 2048 || curve[p].bytes > 16384) continue;
      if (curve[p].gain(kDistance) < curve[p - 1].gain(kDistance) - 1 &&
          curve[p].gain(kDistance) < curve[p + 1].gain(kDistance) - 1) {
        dips = true;
        where += fmt::format("{}{} at {}", where.empty() ? "" : ", ", kPatterns[i].name,
                             format_bytes(std::uint64_t(curve[p].bytes)));
      }
    }
  study.claims.push_back({kFigure4, "gains drop for some sizes above 2 KB, where eager sends end (4 KB)", dips,
                          dips ? where : std::string("no drop"),
                          "With one overhead a kind of message none appears."});
  study.claims.push_back(
      {kFigure4, "a higher eager limit avoids the drop",
       std::ranges::all_of(std::array{kStencil, kTorus2, kHypercube},
                           [&](Which i) { return tried.eager[i] > figures[i][1][3].gain(kDistance); }),
       fmt::format("64 KiB: at 8 KiB 2D stencil {:.0f} %, 2D torus {:.0f} %, 4D hypercube {:.0f} %",
                   tried.eager[kStencil], tried.eager[kTorus2], tried.eager[kHypercube]),
       "Eager messages go through host memory here, near or far: a longer limit takes the gain away "
       "with the drop."});
  double apart = 0, above = 0;
  for (const auto& each : figures)
    for (const Point& point : each[1])
      for (std::size_t m = 0; m < kMaps.size(); ++m)
        apart = std::max(apart, std::abs(point.gain(m) - point.gain(kDistance)));
  for (const auto& each : figures)
    above += each[1].back().gain(kDistance) - std::max(each[1].back().gain(0), each[1].back().gain(1));
  study.claims.push_back({kFigure4, "the three maps are alike", apart < 10,
                          fmt::format("they differ by at most {:.0f} points", apart),
                          "Their costs rise with the level in different ratios, so that their maps differ."});
  study.claims.push_back(
      {kFigure4, "at 16 MB the distance map is mostly the best", above > 0,
       fmt::format("{:+.1f} points above the better of the others, summed over the patterns", above),
       "The maps are equal here: on this tree all three metrics order the levels alike."});
}

/// Section V.C, figure 5.
void add_overheads(Study& study, const Figures& figures, const Experiments& tried) {
  const auto pays = [&](std::size_t pattern, double bytes) {
    for (const Point& point : figures[pattern][1])
      if (point.bytes == bytes) return point.pays(kDistance);
    return 0.0;
  };
  std::string small, large, middle;
  bool within = true, once = true;
  for (std::size_t i = 0; i < kPatterns.size(); ++i) {
    small += fmt::format("{}{} {:.0f}", i == 0 ? "" : ", ", kPatterns[i].name, pays(i, kSmallest));
    large += fmt::format("{}{} {:.0f}", i == 0 ? "" : ", ", kPatterns[i].name, pays(i, 4 << 20));
    within = within && pays(i, kSmallest) <= 1000;
    once = once && pays(i, 4 << 20) == 1;
    middle += fmt::format("{}{} {:.0f}", i == 0 ? "" : ", ", kPatterns[i].name, pays(i, 64 << 10));
  }
  study.claims.push_back({kFigure5, "at most 1000 exchanges pay for a mapping", within,
                          "at 1 KiB: " + small + " (0: never)", "A pattern that gains nothing never pays."});
  study.claims.push_back(
      {kFigure5, "above 2 MB one exchange pays for it", once, "at 4 MiB: " + large, "See figure 4."});
  const auto at = [&](std::size_t pattern) { return pays(pattern, 64 << 10); };
  study.claims.push_back(
      {kFigure5, "the 2D torus takes the fewest",
       at(kTorus2) <= std::min({at(kStencil), at(kTorus3), at(kHypercube)}), "at 64 KiB: " + middle,
       fmt::format("Where t lies in the numbering decides what the hypercube gains. Without a message's own time the "
                   "torus gains {:.0f} % there, the hypercube {:.0f} %.",
                   tried.torus, tried.hypercube)});
  study.claims.push_back(
      {kFigure5, "the 3D torus takes the most", at(kTorus3) >= std::max({at(kStencil), at(kTorus2), at(kHypercube)}),
       "at 64 KiB: " + middle, "Which pattern gains least depends on what of it crosses between sockets."});
}

}  // namespace

Result<Study> study_helios(machine::Machine machine) {
  add_curves(machine);
  Study study;
  study.machine = machine.name;
  const ExchangeCosts costs = open_mpi();
  study.fitted = {
      {"a message of more than 4 KiB", costs.message_us, "µs", "assumed"},
      {"a shorter one, through host memory", costs.short_us, "µs", "assumed"},
      {"one of more than 2 KiB between sockets, more", costs.staged_us, "µs", "assumed: no peer access there"},
      {"a copy at level 0", kLevelGbps[0], "GB/s", "assumed; 11 at level 1, 9 at level 2"},
      {"a copy at level 3", kLevelGbps[3], "GB/s", "assumed: what NCCL counts for QPI"},
      {"messages of a process under way at a time", kStreams, "", "abstract, 59 %"},
      {"a mapping", kMappingUs, "µs", "figure 5: one exchange above 2 MB pays for it"}};
  study.papers = {"Faraji, Mirsadeghi and Afsahi 2016 (GPU selection)"};
  const auto fabric = Fabric::create(machine, 1, Costs{}.memory_gbps);
  if (!fabric) return fabric.status();
  auto graph = place::DeviceGraph::create(fabric->network());
  if (!graph) return graph.status();
  const Node node(*fabric, std::move(*graph));
  const auto swept = numberings(node);
  if (!swept) return swept.status();
  const Numbering& best = best_of(*swept);
  const auto figures = figures_of(node, best.order);
  if (!figures) return figures.status();
  add_series(study, *figures);
  add_levels(study, node);
  add_numberings(study, *swept, best);
  const auto tried = experiments(node, best.order);
  if (!tried) return tried.status();
  add_gains(study, *figures, *tried);
  add_overheads(study, *figures, *tried);
  study.left_out = {
      {"GPU selection, section IV", "maps by SCOTCH 5.8",
       "The library is not needed here: the same metrics are mapped by swaps, which in no case of docs/use/map.md "
       "cost "
       "more than Scotch 7.0 made them cost."},
      {"GPU selection, figures 3 and 4", "values of the curves", "The paper prints them as curves alone."}};
  return study;
}

}  // namespace sennit::sim
