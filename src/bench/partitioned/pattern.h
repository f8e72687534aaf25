// Describes who sends what to whom in two patterns of applications. Pure. Sweep3D is the wavefront of Koch, Baker and
// Alcouffe (1992) over a grid of ranks, from all eight octants; Halo3D exchanges the faces of cubes. Both are those
// of the suite of Temuçin, Grant and Afsahi (ICPP 2022), but for this: all ways of sending move the same bytes.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/status.h"

namespace sennit::bench::partitioned {

enum class Pattern {
  sweep3d,  ///< a step is a plane: two faces come from upstream, and two leave downstream once they are computed
  halo3d,   ///< a step is an iteration: a face leaves to each neighbour, and is needed in the next step
};

std::string_view name(Pattern pattern);
/// Errors: invalid_argument, listing the names.
Result<Pattern> parse_pattern(std::string_view text);

/// Ranks along each axis.
struct Grid {
  int x = 1, y = 1, z = 1;

  int ranks() const { return x * y * z; }
};
/// Returns the most even one; a sweep's is flat. `ranks` of at least 1.
Grid grid_of(Pattern pattern, int ranks);

/// The sides of a rank's block: 2 × axis, and 1 more for the side of larger coordinates.
inline constexpr int kSides = 6;
constexpr int opposite(int side) {
  return side ^ 1;
}

/// What is exchanged. A face is `bytes` of 8-byte numbers in `partitions` of equal size; each holds some of the
/// quantities that do not depend on each other (angles of a sweep, variables of a halo) for the whole face.
struct Shape {
  Pattern pattern = Pattern::sweep3d;
  Grid grid;
  std::uint64_t bytes = 0;
  int partitions = 1;
  int planes = 8;  ///< of each octant; of a halo iterations

  /// Returns how many steps a round has.
  int steps() const { return pattern == Pattern::sweep3d ? 8 * planes : planes; }
  /// Returns how many numbers a partition of a face has.
  std::uint64_t numbers() const { return bytes / 8 / static_cast<unsigned>(partitions); }
};

/// A block has so many cells along each axis; a sweep's is one plane of them.
inline constexpr int kAcross = 4;
/// Returns how many quantities a partition has: numbers() over the cells of a face.
std::uint64_t quantities(const Shape& shape);
/// Errors: invalid_argument where a partition would not have a whole number of quantities, at least one.
Status check(const Shape& shape);

/// Returns the rank on that side, or -1 at the edge of the grid.
int neighbour(const Grid& grid, int rank, int side);

/// From which sides a rank needs a face in a step, and to which ones it sends one.
struct Exchange {
  std::array<bool, kSides> receives{}, sends{};
};
Exchange exchange(const Shape& shape, int rank, int step);

/// The octant of a step of a sweep: bit k is set where it goes from larger coordinates of axis k to smaller ones.
int octant(const Shape& shape, int step);

/// What was moved and computed. Ledgers of two ways of sending are equal, or nothing is said of the two.
struct Ledger {
  std::uint64_t faces = 0, bytes = 0;  ///< sent, of all neighbours
  std::uint64_t received = 0;          ///< bytes
  std::uint64_t updates = 0;           ///< of cells and quantities

  Ledger& operator+=(const Ledger& other);
  bool operator==(const Ledger&) const = default;
};
/// Returns what a rank moves and computes in a round.
Ledger ledger(const Shape& shape, int rank);
/// Returns how many updates one partition takes in a step.
std::uint64_t updates(const Shape& shape);

}  // namespace sennit::bench::partitioned
