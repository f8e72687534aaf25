#include "shim/mpi/call/regions.h"

#include <array>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../gaps_mpi.h"

namespace sennit::shim::mpi {
namespace {

using M = MadeUpMpi;
using testing::ElementsAre;

struct Copied {
  std::ptrdiff_t place;
  std::uint64_t bytes;
  bool operator==(const Copied&) const = default;
};

class RegionTest : public testing::Test {
 protected:
  /// Copies, and notes what of `memory_` is written.
  Copy copy() {
    return [this](void* to, const void* from, std::uint64_t bytes) {
      if (to >= memory_.data() && to < memory_.data() + memory_.size())
        written_.push_back({static_cast<std::byte*>(to) - memory_.data(), bytes});
      std::memcpy(to, from, bytes);
      return Status();
    };
  }
  const GapsMpi mpi_{};
  std::array<std::byte, 48> memory_{};
  std::vector<Copied> written_;
};

TEST_F(RegionTest, WhatHasNoGapsIsOneCopy) {
  const auto region = Region::make(mpi_, 3, M::kFourFloats);
  ASSERT_TRUE(region.ok());
  EXPECT_TRUE(region->dense());
  EXPECT_EQ(region->bytes(), 48);
  const std::array<std::byte, 48> data{};
  ASSERT_TRUE(region->write(copy(), memory_.data(), data.data()).ok());
  EXPECT_THAT(written_, ElementsAre(Copied{0, 48}));
}

TEST_F(RegionTest, GapsAreNeverWritten) {
  const auto region = Region::make(mpi_, 3, M::kGaps);
  ASSERT_TRUE(region.ok());
  EXPECT_FALSE(region->dense());
  EXPECT_EQ(region->bytes(), 24);
  std::array<std::byte, 24> data;
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = std::byte(i + 1);
  ASSERT_TRUE(region->write(copy(), memory_.data(), data.data()).ok());
  EXPECT_THAT(written_, ElementsAre(Copied{4, 8}, Copied{20, 8}, Copied{36, 8}));
  EXPECT_EQ(memory_[4], std::byte{1});
  EXPECT_EQ(memory_[43], std::byte{24});
  std::array<std::byte, 24> again{};
  ASSERT_TRUE(region->read(copy(), memory_.data(), again.data()).ok());
  EXPECT_EQ(again, data);
}

TEST_F(RegionTest, NothingIsNoCopy) {
  const auto region = Region::make(mpi_, 0, M::kGaps);
  ASSERT_TRUE(region.ok());
  EXPECT_EQ(region->bytes(), 0);
  ASSERT_TRUE(region->write(copy(), nullptr, nullptr).ok());
  EXPECT_TRUE(written_.empty());
}

TEST_F(RegionTest, WhatMpiDoesNotTakeIsAnError) {
  EXPECT_EQ(Region::make(mpi_, 1, 999).status().code(), Code::invalid_argument);
  EXPECT_EQ(Region::make(mpi_, -1, M::kFloat).status().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace sennit::shim::mpi
