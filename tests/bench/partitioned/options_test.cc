#include "bench/partitioned/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sennit::bench::partitioned {
namespace {

using testing::HasSubstr;

Options asked() {
  Options options;
  options.sizes = {"64K", "1M"};
  options.partitions = {2, 8};
  return options;
}

TEST(Durations, NeedTheirUnit) {
  EXPECT_EQ(*parse_duration("10ms"), 10000);
  EXPECT_EQ(*parse_duration("0.25s"), 250000);
  EXPECT_EQ(*parse_duration("7us"), 7);
  EXPECT_EQ(*parse_duration("7µs"), 7);
  EXPECT_EQ(*parse_duration("0"), 0);
  for (const char* text : {"", "10", "ms", "-1ms", "10 ms", "1h", "61s", "nan", "infs"})
    EXPECT_THAT(parse_duration(text).status().text(), HasSubstr("is no time")) << text;
}

TEST(Cells, AreEveryCombination) {
  Options options = asked();
  options.caches = {"hot", "cold"};
  options.noises = {"none", "uniform:4"};
  options.orders = {"linear", "random", "stride:2"};
  const auto cells = cells_of(options, 4);
  ASSERT_TRUE(cells);
  ASSERT_EQ(cells->size(), 48U);
  EXPECT_EQ(cells->front().text(), "mpi, 64 KiB in 2 partitions, none, linear, hot");
  EXPECT_EQ(cells->back().text(), "mpi, 1 MiB in 8 partitions, uniform:4, stride:2, cold");
}

TEST(Cells, ThatAreSkippedKeepTheirNumbers) {
  Options options = asked();
  const auto all = cells_of(options, 4);
  ASSERT_TRUE(all);
  options.skip = {0, 2};
  const auto left = cells_of(options, 4);
  ASSERT_EQ(left->size(), all->size() - 2);
  EXPECT_EQ(left->front().line, 1);
  EXPECT_EQ((*left)[1].line, 3);
  for (const Cell& each : *left) EXPECT_EQ(each.text(), (*all)[std::size_t(each.line)].text());
}

TEST(Cells, HaveAThreadAPartitionAsFarAsThereAreCores) {
  const auto few = cells_of(asked(), 4);
  EXPECT_EQ(few->front().plan.crew.threads, 2);
  EXPECT_EQ(few->back().plan.crew.threads, 4);
  Options options = asked();
  options.threads = 3;
  EXPECT_EQ(cells_of(options, 1)->front().plan.crew.threads, 3);
}

TEST(Cells, WrongUsageNamesItsOption) {
  const std::pair<void (*)(Options&), const char*> cases[] = {
      {[](Options& options) { options.back_end = "post"; }, "there is no back end 'post'"},
      {[](Options& options) { options.compute = "1"; }, "--compute"},
      {[](Options& options) { options.sizes = {"0"}; }, "--sizes"},
      {[](Options& options) { options.sizes = {"2G"}; }, "1 GiB"},
      {[](Options& options) { options.noises = {"loud"}; }, "is no noise"},
      {[](Options& options) { options.orders = {"up"}; }, "is no order"}};
  for (const auto& [change, text] : cases) {
    Options options = asked();
    change(options);
    EXPECT_THAT(cells_of(options, 1).status().text(), HasSubstr(text));
  }
}

TEST(BackEnds, AllHaveANameThatIsRead) {
  for (const BackEnd each : kBackEnds) EXPECT_EQ(*parse_back_end(name(each)), each);
}

}  // namespace
}  // namespace sennit::bench::partitioned
