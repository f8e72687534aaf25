#include "shim/mpi/rma/accumulation.h"

#include <algorithm>
#include <bit>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "../made_up_mpi.h"
#include "device/executor.h"

namespace sennit::shim::mpi {
namespace {

using M = MadeUpMpi;
using device::Operator;
using device::Type;

class AccumulationTest : public testing::Test {
 protected:
  template <class T>
  void run(const std::vector<T>& origin, std::vector<T>& target, std::vector<T>* result,
           std::optional<device::Reduction> reduction) {
    Accumulation whole;
    whole.origin = origin.empty() ? nullptr : reinterpret_cast<const std::byte*>(origin.data());
    whole.target = reinterpret_cast<std::byte*>(target.data());
    whole.result = result != nullptr ? reinterpret_cast<std::byte*>(result->data()) : nullptr;
    whole.bytes = target.size() * sizeof(T);
    whole.reduction = reduction;
    ASSERT_FALSE(whole.overlaps());
    ASSERT_TRUE(whole.enqueue(*lane_).ok());
    ASSERT_TRUE(lane_->synchronize().ok());
  }
  static device::Reduction reduction(Type type, Operator op) {
    device::Reduction made;
    made.type = type;
    made.op = op;
    return made;
  }

  const std::shared_ptr<device::Executor> executor_ = *device::open_host_executor();
  const std::unique_ptr<device::Lane> lane_ = std::move(*executor_->lane(0));
};

TEST_F(AccumulationTest, AddsTheOriginToTheTarget) {
  for (const std::size_t length : {1u, 1000u, 100'003u}) {
    std::vector<double> origin(length), target(length), before;
    std::mt19937 random(7);
    std::normal_distribution<double> normal;
    for (double& each : origin) each = normal(random);
    for (double& each : target) each = normal(random);
    before = target;
    run(origin, target, static_cast<std::vector<double>*>(nullptr), reduction(Type::float64, Operator::sum));
    for (std::size_t i = 0; i < length; ++i)
      ASSERT_EQ(std::bit_cast<std::uint64_t>(target[i]), std::bit_cast<std::uint64_t>(origin[i] + before[i])) << i;
  }
}

TEST_F(AccumulationTest, TheResultIsWhatTheTargetHad) {
  const std::vector<int> origin{1, -2, 3}, before{10, 20, 30};
  std::vector<int> target = before, result(3);
  run(origin, target, &result, reduction(Type::int32, Operator::product));
  EXPECT_EQ(result, before);
  EXPECT_EQ(target, (std::vector<int>{10, -40, 90}));
}

TEST_F(AccumulationTest, WithoutAReductionTheOriginReplacesTheTarget) {
  const std::vector<int> origin{1, -2, 3}, before{10, 20, 30};
  std::vector<int> target = before, result(3);
  run(origin, target, &result, std::nullopt);
  EXPECT_EQ(result, before);
  EXPECT_EQ(target, origin);
}

TEST_F(AccumulationTest, WithoutAnOriginTheTargetIsFetchedAlone) {
  const std::vector<int> before{10, 20, 30};
  std::vector<int> target = before, result(3);
  run({}, target, &result, std::nullopt);
  EXPECT_EQ(result, before);
  EXPECT_EQ(target, before);
}

TEST_F(AccumulationTest, PiecesAreTheWhole) {
  std::vector<int> origin(1000, 1), target(1000, 5), result(1000);
  Accumulation whole;
  whole.origin = reinterpret_cast<const std::byte*>(origin.data());
  whole.target = reinterpret_cast<std::byte*>(target.data());
  whole.result = reinterpret_cast<std::byte*>(result.data());
  whole.bytes = 4000;
  whole.reduction = reduction(Type::int32, Operator::sum);
  for (std::uint64_t begin = 0; begin < 4000; begin += 1024)
    ASSERT_TRUE(whole.piece(begin, std::min<std::uint64_t>(1024, 4000 - begin)).enqueue(*lane_).ok());
  ASSERT_TRUE(lane_->synchronize().ok());
  EXPECT_EQ(target, std::vector<int>(1000, 6));
  EXPECT_EQ(result, std::vector<int>(1000, 5));
}

TEST(Accumulation, BuffersThatReachIntoEachOtherAreNoticed) {
  std::vector<std::byte> memory(100);
  std::byte* const base = memory.data();
  const auto overlap = [](const std::byte* origin, std::byte* target, std::byte* result) {
    return Accumulation{origin, target, result, 10, std::nullopt}.overlaps();
  };
  EXPECT_FALSE(overlap(base, base + 10, base + 20));
  EXPECT_FALSE(overlap(base, base + 10, nullptr));
  EXPECT_FALSE(overlap(nullptr, base + 10, base));
  EXPECT_TRUE(overlap(base, base + 9, nullptr));
  EXPECT_TRUE(overlap(base + 9, base, nullptr));
  EXPECT_TRUE(overlap(base, base, nullptr));
  EXPECT_TRUE(overlap(nullptr, base, base + 5));
  EXPECT_TRUE(overlap(base + 20, base, base + 11));
}

TEST(Accumulation, KernelsTakeNumbersAtMultiplesOfTheirLength) {
  alignas(16) std::byte memory[64] = {};
  Accumulation whole;
  whole.target = memory + 4;
  EXPECT_TRUE(whole.aligned(memory + 1)) << "copies take any";
  whole.reduction = device::Reduction{};
  EXPECT_TRUE(whole.aligned(memory + 8));
  EXPECT_TRUE(whole.aligned(nullptr)) << "brought to where it is aligned";
  EXPECT_FALSE(whole.aligned(memory + 2));
  whole.reduction->type = Type::float64;
  EXPECT_FALSE(whole.aligned(memory + 8)) << "the target is not";
}

TEST(Accumulation, OperatorsAreThoseOfTheElementsType) {
  M mpi;
  constexpr Handle kComplex = 40, kBand = 41;
  mpi.uniforms[kComplex] = {*parse_meaning("complex64"), 1};
  mpi.operators[kBand] = Operator::bit_and;
  const auto sum = reduction_of(mpi, kComplex, M::kSum);
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->type, Type::float32);
  EXPECT_EQ(sum->op, Operator::sum);
  EXPECT_EQ(reduction_of(mpi, M::kByte, kBand)->type, Type::uint8);
  EXPECT_FALSE(reduction_of(mpi, M::kFloat, kBand));
  EXPECT_FALSE(reduction_of(mpi, M::kFloat, M::kMine));
  EXPECT_FALSE(reduction_of(mpi, M::kGaps, M::kSum));
}

}  // namespace
}  // namespace sennit::shim::mpi
