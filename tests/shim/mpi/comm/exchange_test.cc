#include "shim/mpi/comm/exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../thread_mpi.h"
#include "comm/frame.h"

namespace sennit::shim::mpi {
namespace {

using testing::HasSubstr;

comm::Bytes some_bytes(int count, int value) {
  return comm::Bytes(static_cast<std::size_t>(count), std::byte(value));
}

TEST(ExchangeOverMpi, BringsItemsOfAnyLengthsInTheOrderOfRanks) {
  ThreadWorld world;
  world.add(1, {2, 0, 1});
  on_threads(world, 3, [](ThreadMpi& mpi, int thread) {
    CommShape shape;
    ASSERT_EQ(mpi.shape(1, shape), 0);
    const auto exchange = exchange_over(mpi, 1, shape);
    EXPECT_EQ(exchange->rank(), (thread + 1) % 3);
    EXPECT_EQ(exchange->size(), 3);
    for (const int round : {0, 1}) {
      const int bytes = shape.rank == 1 ? 0 : 10 * shape.rank + round;  // also none at all
      const auto items = exchange->all_gather(some_bytes(bytes, shape.rank));
      ASSERT_TRUE(items.ok()) << items.status().text();
      EXPECT_EQ(*items, (std::vector{some_bytes(round, 0), some_bytes(0, 1), some_bytes(20 + round, 2)}));
    }
  });
}

TEST(ExchangeOverMpi, RefusesWhatIsTooLargeAndTellsOfMpisErrors) {
  const MadeUpMpi mpi;  // has no collectives
  const auto exchange = exchange_over(mpi, 1, {0, 1});
  EXPECT_EQ(exchange->all_gather(some_bytes(comm::kLargestItem + 1, 0)).status().code(), Code::invalid_argument);
  const auto failed = exchange->all_gather(some_bytes(1, 0));
  EXPECT_EQ(failed.status().code(), Code::system_error);
  EXPECT_THAT(failed.status().what(), HasSubstr("16"));
}

}  // namespace
}  // namespace sennit::shim::mpi
