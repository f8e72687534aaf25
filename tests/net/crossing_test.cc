#include "net/crossing.h"

#include <gtest/gtest.h>

#include <string>

namespace sennit::net {
namespace {

constexpr std::uint64_t kPart = 3 << 20, kHalf = 4 << 20;
const device::Reduction kFloats{device::Type::float32, device::Operator::sum, 1, 1, 1};

TEST(AddsOnGpu, LongPartsOfWholeGrainsForEveryNode) {
  EXPECT_TRUE(adds_on_gpu(kLeastOnGpu, 2, kLeastOnGpu));
  EXPECT_FALSE(adds_on_gpu(kLeastOnGpu - 128 * 2, 2, kLeastOnGpu));
  EXPECT_FALSE(adds_on_gpu(kLeastOnGpu, 3, kLeastOnGpu)) << "no three rows of whole grains";
  EXPECT_TRUE(adds_on_gpu(kPart, 3, kLeastOnGpu));
  EXPECT_FALSE(adds_on_gpu(kPart + 4, 3, kLeastOnGpu));
}

/// Writes down what it is asked to do.
class NotedRail final : public Rail {
 public:
  std::string said;
  Status all_gather(std::byte*, std::uint64_t bytes) override { return note("all_gather", bytes); }
  Status gather(std::byte*, std::uint64_t bytes, int) override { return note("gather", bytes); }
  Status scatter(std::byte*, std::uint64_t bytes, int) override { return note("scatter", bytes); }
  Status all_to_all(const std::byte*, std::byte*, std::uint64_t bytes) override { return note("all_to_all", bytes); }
  Status swap(const std::byte*, std::uint64_t sent, int to, std::byte*, std::uint64_t received, int from) override {
    return note(
        ("to " + std::to_string(to) + ", from " + std::to_string(from) + ": " + std::to_string(received) + " for")
            .c_str(),
        sent);
  }
  Status broadcast(std::byte*, std::uint64_t bytes, int) override { return note("broadcast", bytes); }
  Status all_reduce(std::byte*, std::uint64_t bytes, const device::Reduction&) override {
    return note("all_reduce", bytes);
  }
  Status reduce(std::byte*, std::uint64_t bytes, const device::Reduction&, int) override {
    return note("reduce", bytes);
  }

 private:
  Status note(const char* what, std::uint64_t bytes) {
    said += what + (" " + std::to_string(bytes)) + "; ";
    return {};
  }
};

std::uint64_t sum_of(const std::vector<Move>& moves) {
  std::uint64_t bytes = 0;
  for (const Move& move : moves) {
    EXPECT_LE(move.device + move.bytes, 2 * kHalf);
    EXPECT_LE(move.host + move.bytes, 2 * kHalf);
    bytes += move.bytes;
  }
  return bytes;
}

/// Bytes down, up, and what the rail does.
std::string told(const std::vector<Trip>& trips, NotedRail& rail) {
  std::string all;
  std::vector<std::byte> host(2 * kHalf);
  for (const Trip& trip : trips) {
    rail.said.clear();
    EXPECT_TRUE(trip.rail(host.data()).ok());
    all += std::to_string(sum_of(trip.down)) + " down; " + rail.said + std::to_string(sum_of(trip.up)) + " up" +
           (trip.then ? ", added" : "") + "\n";
  }
  return all;
}

TEST(Crossing, OfTwoNodesTakesOneTrip) {
  NotedRail rail;
  for (const int node : {0, 1}) {
    const Crossing crossing(&rail, 2, node, kHalf, kLeastOnGpu);
    EXPECT_EQ(crossing.trips_of_sum(), 1u);
    EXPECT_EQ(told(crossing.sum(kPart, kFloats).trips, rail),
              "3145728 down; all_gather 3145728; 3145728 up, added\n");
    EXPECT_EQ(told(crossing.sum_at(node, kPart, kFloats).trips, rail), "0 down; gather 3145728; 3145728 up, added\n");
    EXPECT_EQ(told(crossing.sum_at(1 - node, kPart, kFloats).trips, rail), "3145728 down; gather 3145728; 0 up\n");
  }
}

TEST(Crossing, OfMoreNodesTakesTwo) {
  NotedRail rail;
  for (const int node : {0, 1, 2}) {
    const Crossing crossing(&rail, 3, node, kHalf, kLeastOnGpu);
    EXPECT_EQ(crossing.trips_of_sum(), 2u);
    EXPECT_EQ(told(crossing.sum(kPart, kFloats).trips, rail),
              "2097152 down; all_to_all 1048576; 2097152 up, added\n"
              "1048576 down; all_gather 1048576; 2097152 up\n");
    EXPECT_EQ(told(crossing.sum_at(node, kPart, kFloats).trips, rail),
              "2097152 down; all_to_all 1048576; 2097152 up, added\n"
              "0 down; gather 1048576; 2097152 up\n");
    EXPECT_EQ(told(crossing.sum_at((node + 1) % 3, kPart, kFloats).trips, rail),
              "2097152 down; all_to_all 1048576; 2097152 up, added\n"
              "1048576 down; gather 1048576; 0 up\n");
  }
}

TEST(Crossing, GathersAndScattersWhatTheRootHasNot) {
  NotedRail rail;
  for (const int node : {0, 1, 2}) {
    const Crossing crossing(&rail, 3, node, kHalf, kLeastOnGpu);
    EXPECT_EQ(told({crossing.gather_at(1, 1000)}, rail),
              node == 1 ? "0 down; gather 1000; 2000 up\n" : "1000 down; gather 1000; 0 up\n");
    EXPECT_EQ(told({crossing.scatter_from(1, 1000)}, rail),
              node == 1 ? "2000 down; scatter 1000; 0 up\n" : "0 down; scatter 1000; 1000 up\n");
  }
}

TEST(Crossing, SwapsWithNodesOnBothSides) {
  NotedRail rail;
  const Crossing crossing(&rail, 5, 1, kHalf, kLeastOnGpu);
  EXPECT_EQ(told({crossing.swap(1, 3000, 4000)}, rail), "3000 down; to 2, from 0: 4000 for 3000; 4000 up\n");
  EXPECT_EQ(told({crossing.swap(4, 3000, 0)}, rail), "3000 down; to 0, from 2: 0 for 3000; 0 up\n");
  EXPECT_EQ(told({crossing.swap(3, 0, 1)}, rail), "0 down; to 4, from 3: 1 for 0; 1 up\n");
}

TEST(Crossing, LeavesShortPartsToTheEngine) {
  NotedRail rail;
  const Crossing crossing(&rail, 3, 1, kHalf, kLeastOnGpu);
  EXPECT_EQ(told(crossing.sum(1000, kFloats).trips, rail), "1000 down; all_reduce 1000; 1000 up\n");
  EXPECT_EQ(told(crossing.sum_at(1, 1000, kFloats).trips, rail), "1000 down; reduce 1000; 1000 up\n");
  EXPECT_EQ(told(crossing.sum_at(0, 1000, kFloats).trips, rail), "1000 down; reduce 1000; 0 up\n");
}

}  // namespace
}  // namespace sennit::net
