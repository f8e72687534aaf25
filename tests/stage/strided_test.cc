#include "stage/strided.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace sennit::stage {
namespace {

/// Every byte of the data, in its order.
std::vector<std::int64_t> places(const Strided& rows) {
  std::vector<std::int64_t> all;
  for (std::int64_t p = 0; p < rows.planes; ++p)
    for (std::int64_t r = 0; r < rows.rows; ++r)
      for (std::int64_t b = 0; b < rows.bytes; ++b)
        all.push_back(rows.first + p * rows.plane_stride + r * rows.stride + b);
  return all;
}
std::vector<std::int64_t> repeated(const std::vector<std::int64_t>& one, std::int64_t count, std::int64_t distance) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < count; ++i)
    for (const std::int64_t place : one) all.push_back(place + i * distance);
  return all;
}

TEST(Strided, OfElementsSideBySideAreOne) {
  const auto rows = repeat({0, 8, 8, 1}, 5, 8);
  ASSERT_TRUE(rows.has_value());
  EXPECT_EQ(rows->bytes, 40);
  EXPECT_EQ(rows->rows, 1);
}

TEST(Strided, OfAColumnAreAsManyAsTheMatrixHas) {
  const auto rows = repeat({0, 8, 8, 1}, 100, 800);
  ASSERT_TRUE(rows.has_value());
  EXPECT_EQ(rows->rows, 100);
  EXPECT_EQ(rows->data(), 800);
}

TEST(Strided, AreRefusedWhereTheyWouldOverlapOrGoBack) {
  EXPECT_FALSE(repeat({0, 8, 8, 1}, 2, 4));
  EXPECT_FALSE(repeat({0, 8, 8, 1}, 2, -16));
  EXPECT_FALSE(repeat({0, 8, 32, 4}, 2, 64));
  EXPECT_FALSE(repeat({0, 8, 8, 1}, 0, 8));
  EXPECT_FALSE(repeat({0, 8, 16, 4, 100, 3}, 2, 1000)) << "a third distance";
}

TEST(Strided, LieWhereTheirElementsDo) {
  std::mt19937 random(5);
  int made = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::optional<Strided> rows = Strided{0, 1 + std::int64_t(random() % 4), 0, 1};
    auto all = places(*rows);
    for (int level = 0; level < 4 && rows; ++level) {
      const std::int64_t count = std::int64_t(random() % 4), distance = std::int64_t(random() % 40) - 4;
      all = repeated(all, count, distance);
      rows = repeat(*rows, count, distance);
      if (rows) {
        ASSERT_EQ(places(*rows), all) << i;
      }
      made += rows.has_value() ? 1 : 0;
    }
  }
  EXPECT_GT(made, 10'000);
}

}  // namespace
}  // namespace sennit::stage
