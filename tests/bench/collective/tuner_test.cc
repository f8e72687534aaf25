#include "bench/collective/tuner.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/units.h"

namespace sennit::bench::collective {
namespace {

TEST(CollectiveTuner, TheMostUsedOperationComesFirst) {
  const auto cases = *cases_of({}, true);
  EXPECT_EQ(cases.front(), (coll::CallKey{coll::Operation::allreduce, coll::Arithmetic::fast, KiB}));
  EXPECT_EQ(cases.size(), 132u) << "eleven sizes of nine operations, and of three between windows";
  EXPECT_EQ(cases_of({}, false)->size(), 84u) << "without GPUs to 4 MiB";
  const coll::CallKey of_buckets{coll::Operation::allreduce, coll::Arithmetic::fast, 32 * MiB};
  EXPECT_EQ(std::ranges::count(cases, of_buckets), 1) << "gradients come in buckets of some 25 MiB";
  EXPECT_TRUE(std::ranges::is_sorted(cases.begin(), cases.begin() + 11, {}, &coll::CallKey::bytes));
}

TEST(CollectiveTuner, AtLastBetweenWindowsWhatCanGoStraightThere) {
  TunerOptions options;
  options.operations = {"allreduce", "reduce_scatter", "allgather"};
  options.sizes = {"1M"};
  const auto cases = *cases_of(options, true);
  std::vector<std::string> seen;
  for (const coll::CallKey& each : cases)
    seen.push_back(std::string(coll::name(each.operation)) + (each.windows ? " between windows" : ""));
  EXPECT_EQ(seen, (std::vector<std::string>{"allreduce", "reduce_scatter", "allgather", "allreduce between windows",
                                            "allgather between windows"}));
}

TEST(CollectiveTuner, ThoroughlyEveryPowerOfTwoAndOtherTypes) {
  TunerOptions options;
  options.thorough = true;
  options.operations = {"reduce", "scatter"};
  const auto cases = *cases_of(options, true);
  const auto of = [&](coll::Operation operation, coll::Arithmetic arithmetic) {
    return std::ranges::count_if(cases, [&](const coll::CallKey& each) {
      return each.operation == operation && each.arithmetic == arithmetic;
    });
  };
  EXPECT_EQ(of(coll::Operation::reduce, coll::Arithmetic::fast), 23);
  EXPECT_EQ(of(coll::Operation::reduce, coll::Arithmetic::general), 23);
  EXPECT_EQ(of(coll::Operation::scatter, coll::Arithmetic::none), 23);
  EXPECT_EQ(cases.size(), 69u);
}

TEST(CollectiveTuner, WrongUsageIsNamed) {
  TunerOptions options;
  options.sizes = {"12"};
  EXPECT_EQ(cases_of(options, true).status().where(), "--sizes");
  options.sizes = {"1K"};
  options.operations = {"barrier"};
  EXPECT_NE(cases_of(options, true).status().text().find("barrier has one plan"), std::string::npos);
  options.operations = {"allredouble"};
  EXPECT_EQ(cases_of(options, true).status().where(), "--operations");
}

}  // namespace
}  // namespace sennit::bench::collective
