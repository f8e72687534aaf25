#include "doctor/pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sennit::doctor {
namespace {

TEST(Pattern, DependsOnSeedAndPlace) {
  const auto one = pattern(4096, 1);
  EXPECT_EQ(one, pattern(4096, 1));
  EXPECT_NE(one, pattern(4096, 2));
  EXPECT_NE(std::vector(one.begin(), one.begin() + 2048), std::vector(one.begin() + 2048, one.end()));
}

TEST(Pattern, NoticesOneWrongByte) {
  const auto executor = device::open_host_executor();
  ASSERT_TRUE(executor.ok());
  auto memory = (*executor)->allocate(0, 4096), pinned = (*executor)->allocate_pinned(4096);
  auto lane = (*executor)->lane(0);
  ASSERT_TRUE(memory.ok() && pinned.ok() && lane.ok());
  const auto bytes = pattern(4096, 3);
  ASSERT_TRUE(put_bytes(**lane, memory->data(), bytes, *pinned).ok());
  EXPECT_TRUE(expect_bytes(**lane, memory->data(), bytes, *pinned).ok());
  memory->data()[100] ^= std::byte{1};
  const Status wrong = expect_bytes(**lane, memory->data(), bytes, *pinned);
  EXPECT_EQ(wrong.code(), Code::corrupt);
  EXPECT_THAT(wrong.what(), testing::HasSubstr("1 of 4096 bytes are wrong, the first at 100"));
}

}  // namespace
}  // namespace sennit::doctor
