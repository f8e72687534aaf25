#include "stage/segment_copy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "device/executor.h"
#include "device/launch.h"

namespace sennit::stage {
namespace {

TEST(SegmentCopy, WritesSegmentsAndNothingElse) {
  auto executor = device::open_host_executor();
  auto lane = (*executor)->lane(0);
  const std::vector<Segment> segments{{3, 8}, {40, 1}, {50, 300}, {1000, 4000}};
  for (const std::uint64_t times : {1, 3}) {
    const std::int64_t stride = 6000;
    std::vector<std::byte> from(20'000), to(20'000, std::byte{0}), expected(20'000, std::byte{0});
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = std::byte(1 + i % 255);
    for (std::uint64_t time = 0; time < times; ++time)
      for (const auto& [at, bytes] : segments) {
        const auto place = static_cast<std::size_t>(at + static_cast<std::int64_t>(time) * stride);
        std::memcpy(&expected[place], &from[place], static_cast<std::size_t>(bytes));
      }
    const SegmentCopy copy{to.data(), from.data(), segments.data(), segments.size(), times, stride};
    ASSERT_TRUE(device::launch(**lane, copy, copy.blocks(), SegmentCopy::threads(1000)).ok());
    ASSERT_TRUE((*lane)->synchronize().ok());
    EXPECT_EQ(to, expected) << times;
  }
}

TEST(SegmentCopy, BlocksAreAtMostAsManyAsSegments) {
  EXPECT_EQ((SegmentCopy{nullptr, nullptr, nullptr, 3, 2, 10}.blocks()), 6u);
  EXPECT_EQ((SegmentCopy{nullptr, nullptr, nullptr, 1'000'000, 5, 10}.blocks()), 1024u);
}

}  // namespace
}  // namespace sennit::stage
