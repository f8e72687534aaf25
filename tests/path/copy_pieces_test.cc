#include "path/copy_pieces.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "device/executor.h"
#include "device/launch.h"

namespace sennit::path {
namespace {

TEST(CopyPieces, WritesPiecesAndNothingElse) {
  auto executor = device::open_host_executor();
  auto lane = (*executor)->lane(0);
  const std::vector<CopyPieces::Piece> pieces{{3, 8}, {40, 1}, {50, 300}, {1000, 4000}};
  for (const std::uint64_t times : {1, 3}) {
    const std::int64_t stride = 6000;
    std::vector<std::byte> from(20'000), to(20'000, std::byte{0}), expected(20'000, std::byte{0});
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = std::byte(1 + i % 255);
    for (std::uint64_t time = 0; time < times; ++time)
      for (const auto& [at, bytes] : pieces) {
        const auto place = static_cast<std::size_t>(at + static_cast<std::int64_t>(time) * stride);
        std::memcpy(&expected[place], &from[place], bytes);
      }
    const CopyPieces copy{to.data(), from.data(), pieces.data(), pieces.size(), times, stride};
    ASSERT_TRUE(device::launch(**lane, copy, copy.blocks(), CopyPieces::threads(1000)).ok());
    ASSERT_TRUE((*lane)->synchronize().ok());
    EXPECT_EQ(to, expected) << times;
  }
}

TEST(CopyPieces, BlocksAreAtMostAsManyAsPieces) {
  EXPECT_EQ((CopyPieces{nullptr, nullptr, nullptr, 3, 2, 10}.blocks()), 6u);
  EXPECT_EQ((CopyPieces{nullptr, nullptr, nullptr, 1'000'000, 5, 10}.blocks()), 1024u);
}

}  // namespace
}  // namespace sennit::path
