#include "bench/mpi/schedule.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

namespace sennit::bench::mpi {
namespace {

TEST(Schedule, BatchesAreShortAndManyEnough) {
  const Schedule fast = schedule(std::vector{1.0, 1.0}, 1);
  EXPECT_EQ(fast.calls, (std::vector{1000, 1000}));
  EXPECT_EQ(fast.rounds, 1000);
  const Schedule slow = schedule(std::vector{40'000.0, 400.0}, 0.1);
  EXPECT_EQ(slow.calls, (std::vector{1, 2})) << "each as long as it may";
  EXPECT_EQ(slow.rounds, 7) << "the fewest";
  const Schedule brief = schedule(std::vector{10.0}, 0.001);
  EXPECT_EQ(brief.calls, std::vector{14});
  EXPECT_EQ(brief.rounds, 7) << "which take no longer than was asked for";
  const Schedule none = schedule(std::vector{0.0}, 100);
  EXPECT_EQ(none.calls, std::vector{10000});
  EXPECT_EQ(none.rounds, 2000) << "the most";
}

TEST(Schedule, AVariantBehindMuchLongerOnesIsWarmedUp) {
  const std::vector<double> times{300.0, 60'000.0};
  EXPECT_EQ(warming(times, 0), 4) << "a millisecond";
  EXPECT_EQ(warming(times, 1), 0);
  EXPECT_EQ(warming(std::vector{15'000.0, 60'000.0}, 0), 1);
  EXPECT_EQ(warming(std::vector{20'000.0, 60'000.0}, 0), 0) << "about as long";
  EXPECT_EQ(warming(std::vector{1.0, 100.0}, 0), 0) << "all of them short";
  EXPECT_EQ(warming(std::vector{0.0, 0.0}, 0), 0);
}

TEST(Schedule, SecondsAreForEachVariant) {
  EXPECT_EQ(schedule(std::vector{1000.0, 1000.0, 1000.0}, 0.1).rounds, 100);
}

TEST(Schedule, EveryVariantComesInEveryPlaceAndBehindEveryOther) {
  for (const int variants : {1, 2, 3}) {
    std::map<std::pair<int, int>, int> followed;
    std::set<int> first;
    for (int round = 0; round < 2 * variants; ++round) {
      const auto one = order(round, variants);
      EXPECT_EQ(std::set<int>(one.begin(), one.end()).size(), static_cast<std::size_t>(variants));
      first.insert(one.front());
      for (std::size_t i = 1; i < one.size(); ++i) ++followed[{one[i - 1], one[i]}];
    }
    EXPECT_EQ(first.size(), static_cast<std::size_t>(variants));
    EXPECT_EQ(followed.size(), static_cast<std::size_t>(variants * (variants - 1)));
    for (const auto& [pair, times] : followed) EXPECT_EQ(times, followed.begin()->second);
  }
}

}  // namespace
}  // namespace sennit::bench::mpi
