// Rebuilds the model of Faraji, Mirsadeghi and Afsahi 2016: their node of sixteen GPUs, its Open MPI, four patterns
// of neighbours, and what exchanges take there with each map. helios.cc holds it against what the paper says.
#pragma once

#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "place/device_graph.h"
#include "place/pattern.h"
#include "sim/choose_map.h"
#include "sim/costs.h"

namespace sennit::sim::helios {

/// What one copy gets at each level of figure 1, in GB/s. Assumed but for the first, a board's own switch, and the
/// last, what NCCL counts for QPI: the paper's figure 2 shows that they differ, without numbers.
constexpr std::array<double, 4> kLevelGbps = {12.5, 11, 9, 6};
constexpr int kStreams = 3;          // messages of a process under way at a time: fitted to the 59 %
constexpr double kMappingUs = 1200;  // what a mapping takes the paper: one exchange above 2 MB pays for it

/// Open MPI 1.8.8, as far as its figures show it. Up to 4 KiB a message is sent eagerly through host memory; longer
/// ones are copied from GPU to GPU, through host memory between sockets, where the driver gives no peer access. Up to
/// 2 KiB all pairs are alike (figure 2).
ExchangeCosts open_mpi();

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
constexpr std::size_t kDistance = 2;  // of kMaps

/// The paper's node, and what its processes take there.
class Node {
 public:
  Node(const Fabric& fabric, place::DeviceGraph graph) : fabric_(fabric), graph_(std::move(graph)) {}

  const place::DeviceGraph& graph() const { return graph_; }
  /// Returns a pattern's traffic by the numbering `order` (the slowest dimension first), of which a pattern has a
  /// part.
  static place::Traffic traffic(const Pattern& pattern, bool weighted, std::string_view order, double bytes);
  place::Map map(const place::Traffic& traffic, place::Metric metric) const;
  Result<double> us(const place::Traffic& traffic, const place::Map& map, ExchangeCosts costs = open_mpi()) const;
  /// Returns the map that leaves the ranks in their order.
  static place::Map plain();

 private:
  /// Returns what a copy between two devices gets.
  double level_gbps(int from, int to) const;

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

Result<Figures> figures_of(const Node& node, std::string_view order);

/// The gains of the patterns at one size by the distance map, without and with weight.
using Gains = std::array<std::array<double, 2>, 4>;

/// Return whether the paper's figures look so. Figure 5: of the weighted patterns the 3D torus gains least, so it
/// takes the most exchanges to pay; the 2D torus gains more than the hypercube, which has as many messages.
bool fits_figure_3(const Gains& gains);
bool fits_figure_4(const Gains& gains);
bool fits_figure_5(const Gains& gains);

struct Numbering {
  std::string order;
  Gains gains{};
  int figures = 0;  ///< that it fits, of three
};

/// Returns all orders of the dimensions x, y, z and t, and what the patterns gain with each.
Result<std::vector<Numbering>> numberings(const Node& node);
/// Returns the order that fits most figures; of orders alike the first, by their letters.
const Numbering& best_of(const std::vector<Numbering>& all);

struct Experiments {
  double in_turns = 0, at_once = 0;  ///< the stencil at 16 MiB, one message at a time, or all
  std::array<double, 4> eager{};     ///< each pattern at 8 KiB with an eager limit of 64 KiB
  double torus = 0, hypercube = 0;   ///< at 64 KiB, without a message's own time
};
/// Tries what changes where something of the model does.
Result<Experiments> experiments(const Node& node, std::string_view order);

/// Writes figure 2, as the metrics read it, into the machine: copies of each pair by size, one way and both ways.
void add_curves(machine::Machine& machine);

}  // namespace sennit::sim::helios
