#include "bench/collective/options.h"

#include <gtest/gtest.h>

#include "base/units.h"

namespace sennit::bench::collective {
namespace {

TEST(CollectiveOptions, SizesAreWholeElements) {
  Options options;
  EXPECT_EQ(sizes_of(options, false)->back(), 16 * MiB);
  EXPECT_EQ(sizes_of(options, true)->back(), GiB);
  options.sizes = {"4", "1K"};
  EXPECT_EQ(*sizes_of(options, true), (std::vector<std::uint64_t>{4, KiB}));
  options.type = "float64";
  EXPECT_NE(sizes_of(options, true).status().text().find("4 bytes are no whole number of float64"),
            std::string::npos);
  options.type = "half";
  EXPECT_EQ(sizes_of(options, true).status().where(), "--type");
  options.type = "int8";
  options.sizes = {"0"};
  EXPECT_EQ(sizes_of(options, true).status().code(), Code::invalid_argument);
}

TEST(CollectiveOptions, EveryPlanAskedFor) {
  Options options;
  EXPECT_TRUE(plans_of(options, coll::Operation::allreduce)->empty());
  options.algorithms = {"two_shot", "ring"};
  options.blocks = {4, 16};
  options.threads = {256};
  const auto plans = *plans_of(options, coll::Operation::allreduce);
  ASSERT_EQ(plans.size(), 4u);
  EXPECT_EQ(name(plans[1]), "two_shot 16x256");
  EXPECT_EQ(name(plans[2]), "ring 4x256");
  options.algorithms = {"all"};
  EXPECT_EQ(plans_of(options, coll::Operation::allreduce)->size(),
            2 * coll::algorithms_of(coll::Operation::allreduce).size());
  options.threads = {100};
  EXPECT_EQ(plans_of(options, coll::Operation::allreduce).status().where(), "--threads");
  options.algorithms = {"magic"};
  EXPECT_EQ(plans_of(options, coll::Operation::allreduce).status().where(), "--algorithms");
}

TEST(CollectiveOptions, OperationsByName) {
  Options options;
  EXPECT_EQ(*operations_of(options), std::vector{coll::Operation::allreduce});
  options.operations = {"all"};
  EXPECT_EQ(operations_of(options)->size(), coll::all_operations().size());
  options.operations = {"barrier", "all"};
  EXPECT_EQ(operations_of(options)->front(), coll::Operation::barrier);
  EXPECT_EQ(operations_of(options)->size(), coll::all_operations().size()) << "each once";
  options.operations = {"allgather", "sort"};
  EXPECT_EQ(operations_of(options).status().where(), "--operations");
}

}  // namespace
}  // namespace sennit::bench::collective
