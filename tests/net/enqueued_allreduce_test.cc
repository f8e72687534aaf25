// Nodes are groups of threads of this process; a rail is another group of threads, whose engine is sennit again.
#include "net/enqueued_allreduce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "comm/thread_exchange.h"
#include "path/machines.h"

namespace sennit::net {
namespace {

/// What a thread is: one rank of a node among several.
struct Seat {
  int node, rank, nodes, ranks;
  int number() const { return node * ranks + rank; }
  int all() const { return nodes * ranks; }
};

std::unique_ptr<path::Node> meet_at(comm::Table& table, int rank, int device) {
  auto node = path::Node::create(std::make_unique<comm::ThreadExchange>(table, rank), *device::open_host_executor(),
                                 {device, path::machine_of_the_host_executor(), std::chrono::seconds(60)});
  return node.ok() ? std::move(*node) : nullptr;
}

class RailOfSennit final : public LaneRail {
 public:
  RailOfSennit(path::Node& node, coll::Collectives& collectives)
      : collectives_(collectives), lane_(*node.executor().lane(node.device())) {}

  int calls = 0;

  device::Lane& lane() override { return *lane_; }
  Status all_reduce(std::byte* data, std::uint64_t bytes, const device::Reduction& reduction) override {
    ++calls;
    coll::Request request;
    request.input = request.output = data;
    request.count = bytes / device::bytes_of(reduction.type);
    request.reduction = reduction;
    return collectives_.call(request, *lane_);
  }

 private:
  coll::Collectives& collectives_;
  const std::unique_ptr<device::Lane> lane_;
};

struct Seated {
  Seat seat;
  path::Node& node;
  RailOfSennit& rail;
  EnqueuedAllreduce& allreduce;
};

/// Runs work(rank) on every rank of `nodes` nodes of `ranks` ranks. Parts are so short that messages have several
/// chunks.
void on_all_seats(int nodes, int ranks, const std::function<void(const Seated&)>& work) {
  std::vector<std::unique_ptr<comm::Table>> of_node, of_rail;
  for (int i = 0; i < nodes; ++i) of_node.push_back(std::make_unique<comm::Table>(ranks));
  for (int i = 0; i < ranks; ++i) of_rail.push_back(std::make_unique<comm::Table>(nodes));
  comm::on_ranks(nodes * ranks, [&](int number) {
    const Seat seat{number / ranks, number % ranks, nodes, ranks};
    const auto node = meet_at(*of_node[static_cast<std::size_t>(seat.node)], seat.rank, seat.rank);
    const auto others = meet_at(*of_rail[static_cast<std::size_t>(seat.rank)], seat.node, seat.rank);
    ASSERT_TRUE(node && others);
    coll::Collectives in_node(*node), in_rail(*others);
    {
      RailOfSennit rail(*others, in_rail);
      auto allreduce = EnqueuedAllreduce::create(*node, in_node, rail, {16 << 10});
      ASSERT_TRUE(allreduce.ok()) << allreduce.status().text();
      work({seat, *node, rail, **allreduce});
      EXPECT_TRUE(rail.lane().synchronize().ok());
    }
    EXPECT_TRUE(in_node.close().ok() && in_rail.close().ok());
    EXPECT_TRUE(node->group().exchange().barrier().ok() && others->group().exchange().barrier().ok());
  });
}

class Numbers {
 public:
  Numbers(path::Node& node, std::uint64_t count)
      : count_(count), memory_(*node.executor().allocate(node.device(), count * sizeof(float))) {}
  std::byte* data() { return memory_.data(); }
  std::uint64_t bytes() const { return count_ * sizeof(float); }
  void fill(const std::function<float(std::uint64_t)>& value) {
    for (std::uint64_t i = 0; i < count_; ++i) at()[i] = value(i);
  }
  void expect(const std::function<float(std::uint64_t)>& value) {
    for (std::uint64_t i = 0; i < count_; ++i) ASSERT_EQ(at()[i], value(i)) << "number " << i;
  }

 private:
  float* at() { return reinterpret_cast<float*>(memory_.data()); }
  const std::uint64_t count_;
  device::Memory memory_;
};

float given_by(int number, std::uint64_t i, int round = 0) {
  return static_cast<float>(number * 7 + round + static_cast<int>(i % 1000));
}
float sum_of_all(const Seat& seat, std::uint64_t i, int round = 0) {
  float all = 0;
  for (int number = 0; number < seat.all(); ++number) all += given_by(number, i, round);
  return all;
}

const device::Reduction kSumOfFloats{device::Type::float32, device::Operator::sum, 1, 1, 1};
// A few numbers, one chunk, several, and with a rest that cannot be divided.
const std::uint64_t kEnqueuedCounts[] = {1, 31, 1024, 16 * 1024, 100'003};

TEST(EnqueuedAllreduce, Sums) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "two mappings of one memory are two memories to ThreadSanitizer";
#endif
  for (const auto& [nodes, ranks] : {std::pair(2, 2), {3, 1}, {3, 2}, {2, 3}})
    on_all_seats(nodes, ranks, [](const Seated& mine) {
      device::Lane& lane = mine.node.lane();
      for (const std::uint64_t count : kEnqueuedCounts)
        for (const bool in_place : {false, true}) {
          Numbers input(mine.node, count), output(mine.node, count);
          input.fill([&](auto i) { return given_by(mine.seat.number(), i); });
          Numbers& result = in_place ? input : output;
          ASSERT_TRUE(mine.allreduce.call(input.data(), result.data(), input.bytes(), kSumOfFloats, lane).ok());
          ASSERT_TRUE(lane.synchronize().ok());
          result.expect([&](auto i) { return sum_of_all(mine.seat, i); });
          if (!in_place) input.expect([&](auto i) { return given_by(mine.seat.number(), i); });
        }
    });
}

TEST(EnqueuedAllreduce, OtherOperatorsAndTypes) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "two mappings of one memory are two memories to ThreadSanitizer";
#endif
  on_all_seats(2, 2, [](const Seated& mine) {
    Numbers numbers(mine.node, 50'000);
    numbers.fill([&](auto i) { return given_by(mine.seat.number(), i); });
    const device::Reduction largest{device::Type::float32, device::Operator::max, 1, 1, 1};
    ASSERT_TRUE(mine.allreduce.call(numbers.data(), numbers.data(), numbers.bytes(), largest, mine.node.lane()).ok());
    ASSERT_TRUE(mine.node.lane().synchronize().ok());
    numbers.expect([&](auto i) { return given_by(mine.seat.all() - 1, i); });
  });
}

TEST(EnqueuedAllreduce, ManyAreEnqueuedBeforeOneIsDone) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "two mappings of one memory are two memories to ThreadSanitizer";
#endif
  constexpr int kRounds = 8;
  on_all_seats(2, 2, [](const Seated& mine) {
    std::vector<std::unique_ptr<Numbers>> buffers;
    for (int round = 0; round < kRounds; ++round) {
      buffers.push_back(std::make_unique<Numbers>(mine.node, 30'001));
      buffers.back()->fill([&](auto i) { return given_by(mine.seat.number(), i, round); });
    }
    // By turns on two lanes.
    auto other = *mine.node.executor().lane(mine.node.device());
    for (int round = 0; round < kRounds; ++round) {
      Numbers& one = *buffers[static_cast<std::size_t>(round)];
      device::Lane& lane = round % 2 == 0 ? mine.node.lane() : *other;
      ASSERT_TRUE(mine.allreduce.call(one.data(), one.data(), one.bytes(), kSumOfFloats, lane).ok());
    }
    ASSERT_TRUE(mine.node.lane().synchronize().ok());
    ASSERT_TRUE(other->synchronize().ok());
    for (int round = 0; round < kRounds; ++round)
      buffers[static_cast<std::size_t>(round)]->expect([&](auto i) { return sum_of_all(mine.seat, i, round); });
  });
}

TEST(EnqueuedAllreduce, WhatIsNotDividedCrossesOnce) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "two mappings of one memory are two memories to ThreadSanitizer";
#endif
  on_all_seats(2, 2, [](const Seated& mine) {
    Numbers numbers(mine.node, 3);
    numbers.fill([&](auto i) { return given_by(mine.seat.number(), i); });
    ASSERT_TRUE(
        mine.allreduce.call(numbers.data(), numbers.data(), numbers.bytes(), kSumOfFloats, mine.node.lane()).ok());
    ASSERT_TRUE(mine.node.lane().synchronize().ok());
    EXPECT_EQ(mine.rail.calls, mine.seat.rank == 0 ? 1 : 0);
    numbers.expect([&](auto i) { return sum_of_all(mine.seat, i); });
  });
}

}  // namespace
}  // namespace sennit::net
