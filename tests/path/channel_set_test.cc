#include "path/channel_set.h"

#include <gtest/gtest.h>

#include "base/units.h"

namespace sennit::path {
namespace {

struct ChannelSetTest : testing::Test {
  std::shared_ptr<device::Executor> executor = *device::open_host_executor();
  Budget budget{64 * MiB, 0};
  ChannelSet set{budget};

  static Candidate by_host(machine::Method method, std::uint64_t chunk, int blocks = 0) {
    Candidate candidate;
    candidate.route.stops = {"gpu0", "host0", "gpu1"};
    candidate.route.method = method;
    candidate.chunk_bytes = chunk;
    candidate.blocks = blocks;
    return candidate;
  }

  Result<Carrier> carrier(const Candidate& candidate) {
    return set.carrier(*executor, candidate, candidate.route.name(), {0, kHost, 1});
  }
};

TEST_F(ChannelSetTest, KeepsAChannelThatIsLargeEnough) {
  for (const auto method : {machine::Method::sm, machine::Method::engine}) {
    const auto first = carrier(by_host(method, 128 * KiB, 4));
    ASSERT_TRUE(first.ok()) << first.status().text();
    const std::uint64_t used = budget.used;
    EXPECT_GT(used, 0u);
    const auto again = carrier(by_host(method, 64 * KiB, 2));
    EXPECT_EQ(first->kernel, again->kernel);
    EXPECT_EQ(first->engine, again->engine);
    EXPECT_EQ(budget.used, used);
  }
}

TEST_F(ChannelSetTest, NeverMakesAChannelAnew) {
  // Another stream's message may stand in it, and wait for what the one that asks for more would bring.
  for (const auto method : {machine::Method::sm, machine::Method::engine}) {
    const auto first = carrier(by_host(method, 64 * KiB, 2));
    ASSERT_TRUE(first.ok()) << first.status().text();
    const std::uint64_t used = budget.used;
    const auto larger = carrier(by_host(method, 64 * MiB, int(executor->concurrent_blocks(0)) + 1));
    EXPECT_EQ(first->kernel, larger->kernel);
    EXPECT_EQ(first->engine, larger->engine);
    EXPECT_EQ(budget.used, used);
  }
}

TEST(Staging, OfBothDirectionsAndTheirCouriersStaysWithinThePairs) {
  constexpr std::uint64_t kPair = 64 * MiB;
  EXPECT_GE(staging_one_way(kPair), 16 * MiB) << "the longest ring of engines";
  EXPECT_LE(2 * (staging_one_way(kPair) + 2 * RingShape{}.bytes()), kPair);
  EXPECT_EQ(staging_one_way(MiB), 0u);
}

TEST_F(ChannelSetTest, StaysWithinItsBudgetAndSaysSo) {
  budget.limit = 100 * KiB;
  const auto refused = carrier(by_host(machine::Method::engine, 8 * MiB));
  EXPECT_EQ(refused.status().code(), Code::out_of_memory) << refused.status().text();
  EXPECT_EQ(budget.used, 0u);
  budget.limit = 3 * MiB;
  const auto cut = carrier(by_host(machine::Method::engine, 8 * MiB));
  ASSERT_TRUE(cut.ok()) << cut.status().text();
  EXPECT_EQ(cut->engine->slot_bytes(), 512 * KiB) << "a ring that fits";
  EXPECT_LE(budget.used, budget.limit);
}

}  // namespace
}  // namespace sennit::path
