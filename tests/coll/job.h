// One collective on all ranks of a LocalTeam: made, started, and compared with the plain reference.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "coll/algorithms.h"
#include "local_team.h"
#include "reference.h"

namespace sennit::coll {

/// A buffer with a margin on both sides, at any offset.
class Buffer {
 public:
  Buffer(std::uint64_t bytes, std::uint64_t offset)
      : all_(2 * kMargin + offset + bytes + 16, std::byte{0xA5}), size_(bytes) {
    const auto base = reinterpret_cast<std::uintptr_t>(all_.data()) + kMargin;
    first_ = kMargin + (16 - base % 16) % 16 + offset;
  }
  std::byte* data() { return all_.data() + first_; }
  std::uint64_t size() const { return size_; }
  bool margins_intact() const {
    for (std::size_t i = 0; i < all_.size(); ++i)
      if ((i < first_ || i >= first_ + size_) && all_[i] != std::byte{0xA5}) return false;
    return true;
  }

 private:
  static constexpr std::uint64_t kMargin = 64;
  std::vector<std::byte> all_;
  std::uint64_t size_;
  std::size_t first_ = 0;
};

struct Trial {
  Operation operation = Operation::allreduce;
  Plan plan;
  device::Reduction reduction{};
  std::uint64_t count = 0;
  std::uint64_t offset = 0;  ///< of the buffers, in elements
  bool in_place = false;
  int root = 0;
};

inline std::string describe(const Trial& what, int ranks) {
  return std::string(name(what.operation)) + " by " + std::string(name(what.plan.algorithm)) + ", " +
         std::to_string(ranks) + " ranks, " + std::to_string(what.plan.blocks) + " blocks, " +
         std::to_string(what.count) + " × " + std::string(device::name(what.reduction.type)) + " " +
         std::string(device::name(what.reduction.op)) + (what.in_place ? ", in place" : "") + ", offset " +
         std::to_string(what.offset) + ", root " + std::to_string(what.root);
}

class Job {
 public:
  Job(LocalTeam& local, const Trial& what) : local_(local), what_(what) {
    what_.reduction.ranks = static_cast<std::uint32_t>(local.size());
    width_ = device::bytes_of(what.reduction.type);
    bytes_ = what.count * width_;
    for (int rank = 0; rank < local.size(); ++rank) {
      const std::uint64_t in = inputs() * bytes_, out = outputs() * bytes_;
      inputs_.emplace_back(what_.in_place ? std::max(in, out) : in, what.offset * width_);
      if (!what_.in_place) outputs_.emplace_back(out, what.offset * width_);
      std::byte* const to = input(rank);
      for (std::uint64_t i = 0; i < inputs() * what.count; ++i) write(to + i * width_, rank, i);
    }
    for (int rank = 0; rank < local.size(); ++rank)
      before_.emplace_back(holder(rank).data(), holder(rank).data() + holder(rank).size());
  }

  bool admitted() const {
    if (what_.operation == Operation::sendrecv && what_.in_place) return false;
    // See Windows::reach.
    if (needs_windows(what_.plan.algorithm) && what_.operation == Operation::all_to_all && what_.in_place)
      return false;
    return bytes_ <= most_bytes(what_.operation, what_.plan, local_.team(0));
  }

  void start() {
    for (int rank = 0; rank < local_.size(); ++rank) start(rank);
  }
  void start(int rank) {
    Call call{what_.operation, input(rank), output(rank), bytes_, what_.root, what_.reduction, {}};
    call.reach.emplace();  // here all ranks see the same addresses
    for (int peer = 0; peer < local_.size(); ++peer) {
      call.reach->input[peer] = input(peer);
      call.reach->output[peer] = output(peer);
    }
    const auto started = launch(what_.plan, call, local_.team(rank), &local_.engines(rank), local_.lane(rank));
    ASSERT_TRUE(started.ok()) << started.text();
  }

  /// After every lane is done.
  void verify() {
    SCOPED_TRACE(describe(what_, local_.size()));
    for (int rank = 0; rank < local_.size(); ++rank) {
      SCOPED_TRACE("rank " + std::to_string(rank));
      const std::uint64_t results = takes(rank) ? outputs() * what_.count : 0;
      for (std::uint64_t i = 0; i < results; ++i) {
        compare(rank, i);
        if (testing::Test::HasFatalFailure()) return;
      }
      if (what_.operation == Operation::allreduce) {
        ASSERT_EQ(std::memcmp(output(rank), output(0), bytes_), 0) << "other bits than rank 0";
      }
      // Nothing else changes.
      std::vector<std::byte> after(holder(rank).data(), holder(rank).data() + holder(rank).size());
      const auto first = static_cast<std::uint64_t>(output(rank) - holder(rank).data());
      for (std::uint64_t i = 0; i < after.size(); ++i)
        if (i < first || i >= first + results * width_) {
          ASSERT_EQ(after[i], before_[static_cast<std::size_t>(rank)][i]) << "byte " << i << " beside the result";
        }
      ASSERT_TRUE(inputs_[static_cast<std::size_t>(rank)].margins_intact());
      ASSERT_TRUE(holder(rank).margins_intact());
    }
  }

 private:
  std::uint64_t inputs() const { return scatters(what_.operation) ? ranks() : 1; }
  std::uint64_t outputs() const { return gathers(what_.operation) ? ranks() : 1; }
  std::uint64_t ranks() const { return static_cast<std::uint64_t>(local_.size()); }
  bool takes(int rank) const {
    return (what_.operation != Operation::reduce && what_.operation != Operation::gather) || rank == what_.root;
  }
  std::uint64_t own(int rank) const { return static_cast<std::uint64_t>(rank) * bytes_; }

  Buffer& holder(int rank) { return (what_.in_place ? inputs_ : outputs_)[static_cast<std::size_t>(rank)]; }
  std::byte* input(int rank) {
    const bool shifted = what_.in_place && gathers(what_.operation) && !scatters(what_.operation);
    return inputs_[static_cast<std::size_t>(rank)].data() + (shifted ? own(rank) : 0);
  }
  std::byte* output(int rank) {
    const bool shifted = what_.in_place && scatters(what_.operation) && !gathers(what_.operation);
    return holder(rank).data() + (shifted ? own(rank) : 0);
  }

  /// Element i of a rank's input. What is only moved may be any bytes.
  void write(std::byte* to, int rank, std::uint64_t i) const {
    if (reduces(what_.operation))
      return encode(to, what_.reduction.type, sample(what_.reduction.type, what_.reduction.op, rank, i));
    for (std::uint64_t b = 0; b < width_; ++b)
      to[b] = static_cast<std::byte>(i * 31 + i / 256 * 7 + b * 3 + static_cast<unsigned>(rank) * 101);
  }

  /// Element i of a rank's output.
  void compare(int rank, std::uint64_t i) {
    const std::byte* const got = output(rank) + i * width_;
    const std::uint64_t count = what_.count;
    const auto mine = static_cast<std::uint64_t>(rank) * count;
    if (reduces(what_.operation)) {
      const std::uint64_t from = what_.operation == Operation::reduce_scatter ? mine + i : i;
      numbers_.clear();
      for (int each = 0; each < local_.size(); ++each)
        numbers_.push_back(sample(what_.reduction.type, what_.reduction.op, each, from));
      const double expected = coll::reduce(what_.reduction, numbers_);
      const double number = decode(got, what_.reduction.type);
      ASSERT_LE(std::abs(number - expected), tolerance(what_.reduction) * std::max(1.0, std::abs(expected)))
          << "element " << i << ": " << number << " instead of " << expected;
      return;
    }
    int from = what_.root;
    std::uint64_t at = i;
    if (gathers(what_.operation)) {
      from = static_cast<int>(i / count);
      at = i % count;
    }
    if (scatters(what_.operation)) at += mine;
    if (what_.operation == Operation::sendrecv) from = (rank + local_.size() - 1) % local_.size();
    std::byte expected[8];
    write(expected, from, at);
    ASSERT_EQ(std::memcmp(got, expected, width_), 0) << "element " << i;
  }

  LocalTeam& local_;
  Trial what_;
  std::uint64_t width_ = 0, bytes_ = 0;
  std::vector<Buffer> inputs_, outputs_;
  std::vector<std::vector<std::byte>> before_;  // what outputs held
  std::vector<double> numbers_;                 // of one element, by rank
};

inline void finish(LocalTeam& local) {
  for (int rank = 0; rank < local.size(); ++rank) {
    const auto done = local.lane(rank).synchronize();
    ASSERT_TRUE(done.ok()) << done.text();
  }
}

/// Runs one collective on all ranks and compares every element. Plans that do not admit the size are left out.
inline void check(LocalTeam& local, const Trial& what) {
  Job job(local, what);
  if (!job.admitted()) return;
  job.start();
  finish(local);
  if (!testing::Test::HasFatalFailure()) job.verify();
}

}  // namespace sennit::coll
