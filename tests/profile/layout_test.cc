#include "profile/layout.h"

#include <gtest/gtest.h>

namespace sennit::profile {
namespace {

TEST(Bins, AreTheThesisOnesAndOneForNothing) {
  EXPECT_EQ(bin_of(0), 0);
  EXPECT_EQ(last_of(bin_of(0)), 0u);
  EXPECT_EQ(bin_of(1), 1);
  EXPECT_EQ(last_of(bin_of(1)), 1u);
  for (unsigned n = 1; n < 64; ++n) {
    const std::uint64_t power = std::uint64_t{1} << n;
    EXPECT_EQ(last_of(bin_of(power)), power);
    EXPECT_EQ(last_of(bin_of(power / 2 + 1)), power) << "(2^(n-1), 2^n]";
    EXPECT_EQ(bin_of(power + 1), bin_of(power) + 1);
  }
  EXPECT_EQ(bin_of(~std::uint64_t{0}), kLastBin);
  EXPECT_EQ(last_of(kLastBin), ~std::uint64_t{0});
}

TEST(Class, IsInItsKeyWhole) {
  const Class most{kFunctions - 1, kCommunicators - 1, kReductions - 1, kPhases - 1,
                   kUnknownBin,    Memory::device,     Memory::managed};
  for (const Class& each : {Class{}, most, Class{.function = 3, .bin = 65, .memory_out = Memory::pinned}}) {
    const Class back = Class::of(each.key());
    EXPECT_NE(each.key(), 0u);
    EXPECT_EQ(back.key(), each.key());
    EXPECT_EQ(back.function, each.function);
    EXPECT_EQ(back.communicator, each.communicator);
    EXPECT_EQ(back.bin, each.bin);
    EXPECT_EQ(back.memory_in, each.memory_in);
    EXPECT_EQ(back.memory_out, each.memory_out);
  }
}

}  // namespace
}  // namespace sennit::profile
