#include "base/units.h"

#include <gtest/gtest.h>

namespace sennit {
namespace {

TEST(ParseBytes, AcceptsWhatPeopleWrite) {
  EXPECT_EQ(*parse_bytes("0"), 0u);
  EXPECT_EQ(*parse_bytes("4096"), 4096u);
  EXPECT_EQ(*parse_bytes("64k"), 64 * KiB);
  EXPECT_EQ(*parse_bytes("1.5 GiB"), 3 * GiB / 2);
  EXPECT_EQ(*parse_bytes("256MB"), 256 * MiB);
}

TEST(ParseBytes, RefusesTheRest) {
  for (const char* text : {"", "M", "-1", "12 parsecs", "1e400", "nan", "9000000T", "4 096"})
    EXPECT_EQ(parse_bytes(text).status().code(), Code::invalid_argument) << text;
}

TEST(FormatBytes, IsShortAndRoundTrips) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(100 * MiB), "100 MiB");
  for (const std::uint64_t bytes : {1 * KiB, 48 * MiB, 5 * GiB}) EXPECT_EQ(*parse_bytes(format_bytes(bytes)), bytes);
}

TEST(GigabytesPerSecond, IsDecimal) {
  EXPECT_DOUBLE_EQ(gigabytes_per_second(1'000'000'000, 1e6), 1.0);
  EXPECT_EQ(gigabytes_per_second(5, 0), 0);
}

}  // namespace
}  // namespace sennit
