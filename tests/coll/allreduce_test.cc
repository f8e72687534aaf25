// Every allreduce algorithm against a plain reference, on the host executor: the text that GPUs run.
#include "coll/allreduce.h"

#include <gtest/gtest.h>

#include <random>

#include "local_team.h"
#include "reference.h"

namespace sennit::coll {
namespace {

constexpr std::uint64_t kGuard = 64;  // bytes around a buffer that must not change

/// A buffer with a margin on both sides, at any offset.
struct Buffer {
  Buffer(std::uint64_t bytes, std::uint64_t offset)
      : all(2 * kGuard + offset + bytes + 16, std::byte{0xA5}), size(bytes) {
    const auto base = reinterpret_cast<std::uintptr_t>(all.data()) + kGuard;
    first = kGuard + (16 - base % 16) % 16 + offset;
  }
  std::byte* data() { return all.data() + first; }
  bool margins_intact() const {
    for (std::size_t i = 0; i < all.size(); ++i)
      if ((i < first || i >= first + size) && all[i] != std::byte{0xA5}) return false;
    return true;
  }
  std::vector<std::byte> all;
  std::uint64_t size;
  std::size_t first = 0;
};

struct Case {
  AllreducePlan plan;
  device::Reduction reduction;
  std::uint64_t count = 0;
  std::uint64_t offset = 0;  ///< of the buffers, in elements
  bool in_place = false;
};

std::string describe(const Case& what, int ranks) {
  return std::string(name(what.plan.algorithm)) + ", " + std::to_string(ranks) + " ranks, " +
         std::to_string(what.plan.blocks) + " blocks, " + std::to_string(what.count) + " × " +
         std::string(device::name(what.reduction.type)) + " " + std::string(device::name(what.reduction.op)) +
         (what.in_place ? ", in place" : "") + ", offset " + std::to_string(what.offset);
}

/// Runs one allreduce on all ranks and compares every number.
void check(LocalTeam& local, Case what) {
  SCOPED_TRACE(describe(what, local.size()));
  what.reduction.ranks = static_cast<std::uint32_t>(local.size());
  const device::Type type = what.reduction.type;
  const std::uint64_t width = device::bytes_of(type), bytes = what.count * width;
  if (bytes > most_bytes(what.plan.algorithm, local.team(0), what.plan.blocks)) return;
  std::vector<Buffer> inputs, outputs;
  for (int rank = 0; rank < local.size(); ++rank) {
    inputs.emplace_back(bytes, what.offset * width);
    if (!what.in_place) outputs.emplace_back(bytes, what.offset * width);
    for (std::uint64_t i = 0; i < what.count; ++i)
      encode(inputs.back().data() + i * width, type, sample(type, what.reduction.op, rank, i));
  }
  auto& results = what.in_place ? inputs : outputs;
  for (int rank = 0; rank < local.size(); ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    const AllreduceCall call{inputs[at].data(), results[at].data(), bytes, what.reduction};
    ASSERT_TRUE(launch(what.plan, call, local.team(rank), &local.engines(rank), local.lane(rank)).ok());
  }
  for (int rank = 0; rank < local.size(); ++rank) {
    const auto done = local.lane(rank).synchronize();
    ASSERT_TRUE(done.ok()) << done.text();
  }
  std::vector<double> numbers(static_cast<std::size_t>(local.size()));
  const double allowed = tolerance(what.reduction);
  for (std::uint64_t i = 0; i < what.count; ++i) {
    for (int rank = 0; rank < local.size(); ++rank)
      numbers[static_cast<std::size_t>(rank)] = sample(type, what.reduction.op, rank, i);
    const double expected = reduce(what.reduction, numbers);
    const double got = decode(results[0].data() + i * width, type);
    ASSERT_LE(std::abs(got - expected), allowed * std::max(1.0, std::abs(expected)))
        << "element " << i << ": " << got << " instead of " << expected;
  }
  for (std::size_t rank = 0; rank < results.size(); ++rank) {
    ASSERT_EQ(std::memcmp(results[rank].data(), results[0].data(), bytes), 0) << "rank " << rank << " has other bits";
    ASSERT_TRUE(results[rank].margins_intact()) << "rank " << rank << " wrote beside its output";
  }
}

class Algorithms : public testing::TestWithParam<Allreduce> {};

TEST_P(Algorithms, AnyRanksAndAwkwardCounts) {
  for (int ranks = 2; ranks <= kMostRanks; ++ranks) {
    LocalTeam local(ranks, 256);
    if (ranks >= 3)
      local.set_sockets([&] {
        std::vector<int> sockets;
        for (int rank = 0; rank < ranks; ++rank) sockets.push_back(rank * 2 / ranks);
        return sockets;
      }());
    for (const std::uint64_t count : {1, 2, 3, 7, 31, 64, 257, 1000, 4099})
      for (const unsigned blocks : {1u, 3u})
        for (const bool in_place : {false, true})
          check(local, {{GetParam(), blocks}, {device::Type::float32, device::Operator::sum}, count, 0, in_place});
  }
}

TEST_P(Algorithms, EveryTypeAndOperator) {
  for (const int ranks : {2, 3, 5, 8}) {
    LocalTeam local(ranks, 512);
    for (const device::Type type : device::all_types())
      for (const device::Operator op : device::all_operators()) {
        if (!device::supports(type, op)) continue;
        device::Reduction reduction{type, op};
        reduction.real_scale = 0.5;
        reduction.integer_scale = type == device::Type::int8 ? 1 : 3;
        if (type == device::Type::float8_e5m2 || type == device::Type::float8_e4m3) reduction.real_scale = 1;
        check(local, {{GetParam(), 2}, reduction, 333, 0, (int(type) + int(op)) % 2 == 0});
      }
  }
}

TEST_P(Algorithms, AnyAlignmentOfTheElement) {
  LocalTeam local(3, 256);
  for (const auto type : {device::Type::int8, device::Type::bfloat16, device::Type::float32, device::Type::float64})
    for (const std::uint64_t offset : {1, 3})
      check(local, {{GetParam(), 2}, {type, device::Operator::sum}, 777, offset, false});
}

TEST_P(Algorithms, SocketsOfAnySize) {
  for (const std::vector<int>& sockets :
       {std::vector<int>{0, 1, 2}, {0, 0, 0}, {0, 1, 1, 0}, {1, 0, 1, 0, 1}, {0, 0, 0, 1}, {0, 0, 1, 1, 2, 2, 2}}) {
    LocalTeam local(static_cast<int>(sockets.size()), 256);
    local.set_sockets(sockets);
    check(local, {{GetParam(), 2}, {device::Type::float32, device::Operator::average}, 1001, 0, true});
  }
}

TEST_P(Algorithms, RanksRunAheadOfEachOther) {
  // Nothing between the calls: a rank may be calls ahead, and sizes and operators change from call to call.
  constexpr int kRanks = 4, kCalls = 60;
  LocalTeam local(kRanks, 512);
  std::vector<std::vector<float>> data(kRanks, std::vector<float>(2000));
  for (int rank = 0; rank < kRanks; ++rank) std::ranges::fill(data[static_cast<std::size_t>(rank)], float(rank + 1));
  double expected = 0;
  for (int call = 0; call < kCalls; ++call) {
    const unsigned blocks = 1 + static_cast<unsigned>(call) % 3;
    const std::uint64_t count =
        1 + static_cast<std::uint64_t>(call) * 31 %
                std::min<std::uint64_t>(2000, most_bytes(GetParam(), local.team(0), blocks) / 4);
    for (int rank = 0; rank < kRanks; ++rank) {
      auto* const numbers = reinterpret_cast<std::byte*>(data[static_cast<std::size_t>(rank)].data());
      const AllreducePlan plan{GetParam(), blocks};
      const device::Reduction reduction{device::Type::float32,
                                        call % 2 == 0 ? device::Operator::max : device::Operator::average, kRanks};
      ASSERT_TRUE(launch(plan, {numbers, numbers, count * 4, reduction}, local.team(rank), &local.engines(rank),
                         local.lane(rank))
                      .ok());
    }
    expected = 4;  // the first call makes all of what it covers the maximum; averages of equals change nothing
  }
  for (int rank = 0; rank < kRanks; ++rank) {
    const auto done = local.lane(rank).synchronize();
    ASSERT_TRUE(done.ok()) << done.text();
    EXPECT_EQ(double(data[static_cast<std::size_t>(rank)][0]), expected);
  }
}

TEST_P(Algorithms, ARankThatDoesNotComeIsNamed) {
  LocalTeam local(3, 256, std::chrono::milliseconds(300));
  std::vector<std::vector<float>> data(3, std::vector<float>(100));
  for (const int rank : {0, 1}) {
    auto* const numbers = reinterpret_cast<std::byte*>(data[static_cast<std::size_t>(rank)].data());
    const device::Reduction reduction{device::Type::float32, device::Operator::sum, 3};
    ASSERT_TRUE(launch({GetParam(), 1}, {numbers, numbers, 400, reduction}, local.team(rank), &local.engines(rank),
                       local.lane(rank))
                    .ok());
  }
  bool named = false;
  for (const int rank : {0, 1}) {
    const Status status = local.lane(rank).synchronize();
    EXPECT_EQ(status.code(), Code::timed_out);
    named = named || status.text().find("rank 2") != std::string::npos;
  }
  EXPECT_TRUE(named);
}

INSTANTIATE_TEST_SUITE_P(Allreduce, Algorithms,
                         testing::ValuesIn(std::vector<Allreduce>(all_allreduce_algorithms().begin(),
                                                                  all_allreduce_algorithms().end())),
                         [](const auto& one) { return std::string(name(one.param)); });

TEST(Allreduce, RandomCallsAreRight) {
  const unsigned seed = 20261121;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto upto = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  for (int round = 0; round < 6; ++round) {
    const int ranks = 2 + int(upto(7));
    LocalTeam local(ranks, 16 * (1 + upto(64)));
    std::vector<int> sockets;
    for (int rank = 0; rank < ranks; ++rank) sockets.push_back(int(upto(3)));
    local.set_sockets(sockets);
    for (int call = 0; call < 40; ++call) {
      const auto algorithms = all_allreduce_algorithms();
      Case what;
      what.plan = {algorithms[upto(unsigned(algorithms.size()))], 1 + upto(4)};
      what.reduction.type = device::all_types()[upto(device::kTypes)];
      do what.reduction.op = device::all_operators()[upto(device::kOperators)];
      while (!device::supports(what.reduction.type, what.reduction.op));
      what.count = 1 + upto(3000);
      what.offset = upto(5);
      what.in_place = upto(2) == 0;
      check(local, what);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(Allreduce, CountsWrapAround) {
  LocalTeam local(3, 256);
  for (int rank = 0; rank < 3; ++rank)
    for (BlockCounts& counts : local.counts(rank)) {
      counts.epoch = 0xFFFFFFFEu;
      for (int peer = 0; peer < 3; ++peer) counts.sent[peer] = counts.taken[peer] = 0xFFFFFFFDu;
    }
  for (int rank = 0; rank < 3; ++rank)
    for (unsigned block = 0; block < 2; ++block)
      for (int peer = 0; peer < 3; ++peer) {
        *local.team(rank).produced(rank, peer, block) = 0xFFFFFFFDu;
        *local.team(rank).consumed(rank, peer, block) = 0xFFFFFFFDu;
      }
  for (int call = 0; call < 6; ++call)
    for (const Allreduce algorithm : all_allreduce_algorithms())
      check(local, {{algorithm, 2}, {device::Type::float32, device::Operator::sum}, 500, 0, false});
}

TEST(Allreduce, NoPacketOutlivesItsCall) {
  LocalTeam local(3, 256);
  for (const Allreduce algorithm : {Allreduce::one_shot_packets, Allreduce::two_shot_packets})
    check(local, {{algorithm, 2}, {device::Type::bfloat16, device::Operator::sum}, 999, 0, false});
  for (int rank = 0; rank < 3; ++rank)
    for (std::uint64_t epoch : {0, 1})
      for (unsigned block = 0; block < 2; ++block)
        for (std::uint64_t i = 0; i < kPlaceBytes / sizeof(device::Packet); ++i) {
          const device::Packet& packet = local.team(0).packets(rank, block, epoch, 0, 1)[i];
          ASSERT_TRUE(packet.tag0 == 0 && packet.tag1 == 0) << "rank " << rank << ", packet " << i;
        }
}

TEST(Allreduce, PlansThatCannotWorkAreRefused) {
  LocalTeam local(2, 256);
  float numbers[4] = {};
  const AllreduceCall call{reinterpret_cast<std::byte*>(numbers), reinterpret_cast<std::byte*>(numbers), 16, {}};
  EXPECT_EQ(launch({Allreduce::two_shot, 0}, call, local.team(0), nullptr, local.lane(0)).code(),
            Code::invalid_argument);
  EXPECT_EQ(launch({Allreduce::two_shot, kMostBlocks + 1}, call, local.team(0), nullptr, local.lane(0)).code(),
            Code::invalid_argument);
  AllreduceCall large = call;
  large.bytes = most_bytes(Allreduce::one_shot_packets, local.team(0), 1) + 1;
  const Status refused = launch({Allreduce::one_shot_packets, 1}, large, local.team(0), nullptr, local.lane(0));
  EXPECT_EQ(refused.code(), Code::invalid_argument);
  EXPECT_NE(refused.text().find("at most 8 KiB"), std::string::npos) << refused.text();
  EXPECT_EQ(parse_allreduce("fastest").status().code(), Code::invalid_argument);
  EXPECT_EQ(*parse_allreduce("segmented_ring"), Allreduce::segmented_ring);
}

}  // namespace
}  // namespace sennit::coll
