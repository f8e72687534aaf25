#include "coll/reduce_rows.h"

#include <gtest/gtest.h>

#include <vector>

#include "device/executor.h"

namespace sennit::coll {
namespace {

const device::Reduction kSumOfInts{device::Type::int32, device::Operator::sum, 1, 1, 1};

TEST(ReduceRows, AddsAnyNumberOfRowsInTheirOrder) {
  const auto executor = *device::open_host_executor();
  const auto lane = std::move(*executor->lane(0));
  for (const std::size_t count : {1u, 2u, 8u, 9u, 15u, 16u, 40u})
    for (const std::size_t length : {1u, 1000u, 100'003u}) {
      std::vector<std::vector<int>> rows(count, std::vector<int>(length));
      std::vector<const std::byte*> addresses;
      for (std::size_t row = 0; row < count; ++row) {
        for (std::size_t i = 0; i < length; ++i) rows[row][i] = static_cast<int>(row * row + i);
        addresses.push_back(reinterpret_cast<const std::byte*>(rows[row].data()));
      }
      std::vector<int> output(length + 1, -1);
      auto* const to = reinterpret_cast<std::byte*>(output.data());
      ASSERT_TRUE(reduce_rows(addresses, to, length * 4, kSumOfInts, *lane).ok());
      ASSERT_TRUE(lane->synchronize().ok());
      int squares = 0;
      for (std::size_t row = 0; row < count; ++row) squares += static_cast<int>(row * row);
      for (std::size_t i = 0; i < length; ++i)
        ASSERT_EQ(output[i], squares + static_cast<int>(count * i)) << count << " rows, number " << i;
      EXPECT_EQ(output[length], -1) << "behind the output";
    }
}

TEST(ReduceRows, TheOutputMayBeOneOfTheFirstRows) {
  const auto executor = *device::open_host_executor();
  const auto lane = std::move(*executor->lane(0));
  for (const std::size_t own : {0u, 3u, 7u}) {
    std::vector<std::vector<int>> rows(12, std::vector<int>(5000, 2));
    std::vector<const std::byte*> addresses;
    for (const auto& row : rows) addresses.push_back(reinterpret_cast<const std::byte*>(row.data()));
    auto* const to = reinterpret_cast<std::byte*>(rows[own].data());
    ASSERT_TRUE(reduce_rows(addresses, to, 5000 * 4, kSumOfInts, *lane).ok());
    ASSERT_TRUE(lane->synchronize().ok());
    EXPECT_EQ(rows[own], std::vector<int>(5000, 24)) << own;
  }
}

// Inputs were scaled by the steps before.
TEST(ReduceRows, ScalesNothing) {
  const auto executor = *device::open_host_executor();
  const auto lane = std::move(*executor->lane(0));
  for (const auto op : {device::Operator::average, device::Operator::premultiplied_sum}) {
    const device::Reduction reduction{device::Type::float32, op, 4, 3, 3};
    const std::vector<float> row(100, 2);
    std::vector<float> output(100);
    const auto* const from = reinterpret_cast<const std::byte*>(row.data());
    const std::byte* const rows[] = {from, from};
    ASSERT_TRUE(reduce_rows(rows, reinterpret_cast<std::byte*>(output.data()), 400, reduction, *lane).ok());
    ASSERT_TRUE(lane->synchronize().ok());
    EXPECT_EQ(output, std::vector<float>(100, 4));
  }
}

}  // namespace
}  // namespace sennit::coll
