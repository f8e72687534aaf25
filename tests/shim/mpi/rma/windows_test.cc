#include "shim/mpi/rma/windows.h"

#include <limits>

#include <gtest/gtest.h>

namespace sennit::shim::mpi {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

TEST(Windows, PlacesCountInTheTargetsUnits) {
  EXPECT_EQ(offset_of(3, 4, {0, 8}, 20), 12);
  EXPECT_EQ(offset_of(0, 1, {0, 20}, 20), 0);
  EXPECT_EQ(offset_of(2, 4, {-8, 4}, 12), 8);  // a type may begin before its address
}

TEST(Windows, NothingReachesOutOfATargetsMemory) {
  EXPECT_EQ(offset_of(4, 4, {0, 8}, 20), std::nullopt);
  EXPECT_EQ(offset_of(-1, 4, {0, 4}, 20), std::nullopt);
  EXPECT_EQ(offset_of(1, 4, {-8, 4}, 12), std::nullopt);
  EXPECT_EQ(offset_of(0, 1, {0, 1}, 0), std::nullopt);
}

TEST(Windows, PlacesBeyondEveryNumberAreOutside) {
  EXPECT_EQ(offset_of(kMost, 8, {0, 8}, 64), std::nullopt);
  EXPECT_EQ(offset_of(kMost, 1, {0, 8}, 64), std::nullopt);
}

}  // namespace
}  // namespace sennit::shim::mpi
