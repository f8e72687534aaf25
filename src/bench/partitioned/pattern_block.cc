#include "bench/partitioned/pattern_block.h"

#include <algorithm>
#include <deque>

namespace sennit::bench::partitioned {

namespace {

constexpr std::size_t kN = kAcross;

// Coefficients of one angle: cosines of direction and a cross section. Their values mean nothing; that each cell
// depends on three others, and is damped, does.
constexpr double kMu = 0.8, kEta = 0.5, kXi = 0.3, kSigma = 0.4;
constexpr double kDamped = 1 / (kSigma + kMu + kEta + kXi);
constexpr double kKept = 0.4, kFromEach = 0.1;  // of a halo: weights that add up to 1

std::size_t cells(Pattern pattern) {
  return pattern == Pattern::sweep3d ? kN * kN : kN * kN * kN;
}

}  // namespace

Block::Block(const Shape& shape, int rank)
    : shape_(shape), rank_(rank), width_(quantities(shape)), each_(cells(shape.pattern) * width_) {
  const std::size_t all = each_ * std::size_t(shape.partitions);
  now_.resize(all);
  (shape.pattern == Pattern::sweep3d ? sums_ : next_).resize(all);
}

double Block::source(std::size_t place) const {
  // Knuth's multiplicative hash; 2^-32 makes it a fraction.
  const auto mixed =
      static_cast<std::uint32_t>((place + 1) * 2654435761U + unsigned(rank_) * 40503U + unsigned(round_) * 69069U);
  return mixed * 0x1p-32;
}

void Block::reset(int round) {
  round_ = round;
  std::ranges::fill(sums_, 0.0);
  if (shape_.pattern == Pattern::sweep3d) return;
  for (std::size_t place = 0; place < now_.size(); ++place) now_[place] = source(place);
}

void Block::step(int number, int partition, const Faces& in, const Faces& out) {
  if (shape_.pattern == Pattern::sweep3d)
    sweep(number, std::size_t(partition), in, out);
  else
    relax(number, std::size_t(partition), in, out);
}

void Block::sweep(int number, std::size_t partition, const Faces& in, const Faces& out) {
  const int direction = octant(shape_, number), plane = number % shape_.planes;
  const std::array<bool, 2> down = {(direction & 1) != 0, (direction & 2) != 0};
  // 1. What enters: along x a line of each row, along y one of each column, from below the plane before.
  std::vector<double> along_x(kN * width_), along_y(kN * width_);
  const std::array<double*, 2> entering = {in[down[0] ? 1 : 0], in[down[1] ? 3 : 2]};
  if (entering[0] != nullptr) std::copy_n(entering[0], along_x.size(), along_x.begin());
  if (entering[1] != nullptr) std::copy_n(entering[1], along_y.size(), along_y.begin());
  double* const below = now_.data() + partition * each_;
  double* const sums = sums_.data() + partition * each_;
  if (plane == 0) std::fill_n(below, each_, 0.0);
  // 2. Each cell from the three upstream of it, in the octant's order.
  const double emitted = 1 + source(partition * 64 + std::size_t(number));
  for (std::size_t row = 0; row < kN; ++row)
    for (std::size_t column = 0; column < kN; ++column) {
      const std::size_t y = down[1] ? kN - 1 - row : row, x = down[0] ? kN - 1 - column : column;
      double* const from_x = along_x.data() + y * width_;
      double* const from_y = along_y.data() + x * width_;
      double* const from_z = below + (y * kN + x) * width_;
      double* const sum = sums + (y * kN + x) * width_;
      for (std::size_t angle = 0; angle < width_; ++angle) {
        const double value = (emitted + kMu * from_x[angle] + kEta * from_y[angle] + kXi * from_z[angle]) * kDamped;
        from_x[angle] = from_y[angle] = from_z[angle] = value;
        sum[angle] += value;
      }
    }
  // 3. What leaves.
  if (double* const to = out[down[0] ? 0 : 1]) std::ranges::copy(along_x, to);
  if (double* const to = out[down[1] ? 2 : 3]) std::ranges::copy(along_y, to);
}

void Block::relax(int number, std::size_t partition, const Faces& in, const Faces& out) {
  // Iterations take turns between two arrays; which one a partition reads follows from the step alone.
  std::vector<double>& from_all = number % 2 == 0 ? now_ : next_;
  std::vector<double>& to_all = number % 2 == 0 ? next_ : now_;
  const double* const from = from_all.data() + partition * each_;
  double* const to = to_all.data() + partition * each_;
  constexpr std::array<std::size_t, 3> kStride = {1, kN, kN * kN};
  const auto on_face = [&](std::size_t axis, std::size_t cell) {
    // The place in a face: the coordinates along the two other axes.
    const std::array at = {cell % kN, cell / kN % kN, cell / kN / kN};
    return axis == 0 ? at[1] + kN * at[2] : axis == 1 ? at[0] + kN * at[2] : at[0] + kN * at[1];
  };
  for (std::size_t cell = 0; cell < kN * kN * kN; ++cell) {
    const std::array at = {cell % kN, cell / kN % kN, cell / kN / kN};
    double* const made = to + cell * width_;
    for (std::size_t variable = 0; variable < width_; ++variable)
      made[variable] = kKept * from[cell * width_ + variable];
    for (std::size_t side = 0; side < kSides; ++side) {
      const std::size_t axis = side / 2;
      const bool up = side % 2 == 1, at_edge = at[axis] == (up ? kN - 1 : 0);
      const double* other = at_edge ? in[side] : from;
      if (other == nullptr) continue;
      other += (at_edge ? on_face(axis, cell) : up ? cell + kStride[axis] : cell - kStride[axis]) * width_;
      for (std::size_t variable = 0; variable < width_; ++variable) made[variable] += kFromEach * other[variable];
    }
  }
  for (std::size_t side = 0; side < kSides; ++side) {
    if (out[side] == nullptr) continue;
    const std::size_t axis = side / 2;
    for (std::size_t cell = 0; cell < kN * kN * kN; ++cell) {
      const std::array at = {cell % kN, cell / kN % kN, cell / kN / kN};
      if (at[axis] == (side % 2 == 1 ? kN - 1 : 0))
        std::copy_n(to + cell * width_, width_, out[side] + on_face(axis, cell) * width_);
    }
  }
  // The result is in now_, whichever array the last iteration wrote.
  if (number + 1 == shape_.steps() && number % 2 == 0) std::copy_n(to, each_, now_.data() + partition * each_);
}

std::vector<std::vector<double>> serial(const Shape& shape, int round) {
  const auto ranks = std::size_t(shape.grid.ranks());
  std::vector<Block> blocks;
  std::vector<std::array<std::deque<std::vector<double>>, kSides>> mail(ranks);  // by who receives it, and its side
  std::vector<int> done(ranks, 0);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    blocks.emplace_back(shape, int(rank));
    blocks.back().reset(round);
  }
  const std::size_t numbers = shape.numbers();
  const auto can_step = [&](std::size_t rank) {
    const Exchange sides = exchange(shape, int(rank), done[rank]);
    for (std::size_t side = 0; side < kSides; ++side)
      if (sides.receives[side] && mail[rank][side].empty()) return false;
    return true;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t rank = 0; rank < ranks; ++rank)
      while (done[rank] < shape.steps() && can_step(rank)) {
        moved = true;
        const Exchange sides = exchange(shape, int(rank), done[rank]);
        std::array<std::vector<double>, kSides> made;
        for (int partition = 0; partition < shape.partitions; ++partition) {
          Faces in{}, out{};
          for (std::size_t side = 0; side < kSides; ++side) {
            if (sides.sends[side]) made[side].resize(numbers * std::size_t(shape.partitions));
            const std::size_t at = numbers * std::size_t(partition);
            if (sides.receives[side]) in[side] = mail[rank][side].front().data() + at;
            if (sides.sends[side]) out[side] = made[side].data() + at;
          }
          blocks[rank].step(done[rank], partition, in, out);
        }
        for (std::size_t side = 0; side < kSides; ++side) {
          if (sides.receives[side]) mail[rank][side].pop_front();
          if (!sides.sends[side]) continue;
          const auto to = std::size_t(neighbour(shape.grid, int(rank), int(side)));
          mail[to][std::size_t(opposite(int(side)))].push_back(std::move(made[side]));
        }
        ++done[rank];
      }
  }
  std::vector<std::vector<double>> results;
  for (const Block& block : blocks) results.emplace_back(block.result().begin(), block.result().end());
  return results;
}

}  // namespace sennit::bench::partitioned
