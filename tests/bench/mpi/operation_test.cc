#include "bench/mpi/operation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sennit::bench::mpi {
namespace {

TEST(Operation, EachIsCalledByItsName) {
  EXPECT_EQ(all_operations().size(), 27u);
  for (const Operation each : all_operations()) EXPECT_EQ(*parse_operation(name(each)), each);
  EXPECT_EQ(*parse_operation("all-to-all"), Operation::alltoall);
  const auto none = parse_operation("swap");
  EXPECT_EQ(none.status().code(), Code::invalid_argument);
  EXPECT_THAT(none.status().remedy(), testing::HasSubstr("alltoall, alltoallv, reduce_scatter_block"));
}

TEST(Operation, MessagesAreNoCollectives) {
  for (const Operation each : all_operations())
    if (is_one_sided(each)) {
      EXPECT_FALSE(is_message(each) || has_window(each) || gathers(each) || scatters(each)) << name(each);
      EXPECT_EQ(reduces(each), each == Operation::accumulate) << name(each);
    } else if (is_message(each)) {
      EXPECT_FALSE(reduces(each) || gathers(each) || scatters(each) || can_be_in_place(each)) << name(each);
    } else {
      EXPECT_FALSE(has_window(each)) << name(each);
    }
}

}  // namespace
}  // namespace sennit::bench::mpi
