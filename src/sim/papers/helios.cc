// Faraji, Mirsadeghi and Afsahi 2016: which process should use which of sixteen GPUs, for four patterns of
// neighbours. The model is in helios_model.h; here is what the paper says of it, claim by claim.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/units.h"
#include "sim/papers/helios_model.h"
#include "sim/papers/study.h"

namespace sennit::sim {

namespace helios {
namespace {

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

Result<Study> study(machine::Machine machine) {
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
       "cost more than Scotch 7.0 made them cost."},
      {"GPU selection, figures 3 and 4", "values of the curves", "The paper prints them as curves alone."}};
  return study;
}

}  // namespace helios

Result<Study> study_helios(machine::Machine machine) {
  return helios::study(std::move(machine));
}

}  // namespace sennit::sim
