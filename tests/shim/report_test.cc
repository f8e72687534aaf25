#include "shim/report.h"

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sennit::shim {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

TEST(Report, AClassReachesUpToItsSize) {
  EXPECT_EQ(size_class(0), 0u);
  EXPECT_EQ(size_class(1024), 0u);
  EXPECT_EQ(size_class(1025), 1u);
  EXPECT_EQ(size_class(64 << 20), 4u);
  EXPECT_EQ(size_class((64 << 20) + 1), 5u);
  EXPECT_EQ(name_of_size_class(1), "to 16 KiB");
  EXPECT_EQ(name_of_size_class(5), "above 64 MiB");
}

TEST(Report, CountsByOperationSizeAndHow) {
  Report report;
  EXPECT_TRUE(report.empty());
  report.count("allreduce", 100, "packets", 10);
  report.count("allreduce", 200, "packets", 20);
  report.count("allreduce", 200, "staged: derived types", 50);
  report.count("allreduce", 4096, "packets", 1);
  report.count("bcast", 100, "packets", 1);
  EXPECT_FALSE(report.empty());
  const std::string text = report.text("a title");
  EXPECT_THAT(text, MatchesRegex("a title\n(.*\n)+"));
  EXPECT_THAT(text,
              HasSubstr("allreduce                       to 1 KiB          2        300 B         15.0  packets\n"));
  EXPECT_THAT(text, HasSubstr("         1        200 B         50.0  staged: derived types\n"));
  EXPECT_THAT(text, HasSubstr("to 16 KiB          1        4 KiB          1.0  packets\n"));
  EXPECT_THAT(text, HasSubstr("bcast"));
  EXPECT_THAT(text, Not(HasSubstr("MiB")));
}

TEST(Report, EveryClassEndsWhereTheNextBegins) {
  for (std::size_t i = 0; i < kSizeClasses.size(); ++i) {
    EXPECT_EQ(size_class(kSizeClasses[i]), i);
    EXPECT_EQ(size_class(kSizeClasses[i] + 1), i + 1);
  }
  EXPECT_EQ(size_class(~std::uint64_t{0}), kSizeClasses.size());
}

TEST(Report, LinesAreInTheOrderOfOperationsAndSizes) {
  Report report;
  report.count("bcast", 2000, "ring", 1);
  report.count("bcast", 10, "ring", 1);
  report.count("allreduce", 5000, "ring", 1);
  EXPECT_THAT(report.text("t"),
              MatchesRegex("t\noperation .*\nallreduce .*\nbcast .* to 1 KiB .*\nbcast .* to 16 KiB .*\n"));
}

TEST(Report, CountsOfThreadsAddUp) {
  Report report;
  constexpr int kThreads = 4, kCalls = 2000;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < kThreads; ++thread)
      threads.emplace_back([&report] {
        for (int i = 0; i < kCalls; ++i) report.count("send", 8, i % 2 == 0 ? "direct" : "staged", 0.5);
      });
  }
  const std::string text = report.text("t");
  EXPECT_THAT(text,
              HasSubstr("send                            to 1 KiB       4000    31.25 KiB          0.5  direct\n"));
  EXPECT_THAT(text, HasSubstr("staged\n"));
  EXPECT_EQ(std::ranges::count(text, '\n'), 4);
}

TEST(Report, NoRowIsLostWhereThereAreManyTexts) {
  Report report;
  constexpr int kTexts = 3000;
  for (int i = 0; i < kTexts; ++i)
    for (int twice = 0; twice < 2; ++twice) report.count("send", 8, "why " + std::to_string(i), 1);
  const std::string text = report.text("t");
  EXPECT_EQ(std::ranges::count(text, '\n'), kTexts + 2);
  for (const int i : {0, 1, 600, kTexts - 1})
    EXPECT_THAT(text, HasSubstr("          2         16 B          1.0  why " + std::to_string(i) + "\n"));
}

}  // namespace
}  // namespace sennit::shim
