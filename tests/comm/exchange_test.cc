#include "comm/exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thread_exchange.h"

namespace sennit::comm {
namespace {

using testing::HasSubstr;

TEST(Alone, GathersItsOwn) {
  const auto exchange = alone();
  EXPECT_EQ(exchange->size(), 1);
  EXPECT_EQ(*exchange->all_gather(Bytes(3)), std::vector<Bytes>{Bytes(3)});
  EXPECT_TRUE(exchange->barrier().ok());
}

TEST(Agree, GathersPayloadsWhenAllAreWell) {
  Table table(3);
  on_ranks(3, [&](int rank) {
    ThreadExchange exchange(table, rank);
    const auto items = agree(exchange, {}, Bytes(std::size_t(rank)));
    ASSERT_TRUE(items.ok());
    for (int from = 0; from < 3; ++from) EXPECT_EQ((*items)[std::size_t(from)].size(), std::size_t(from));
  });
}

TEST(Agree, FailsEverywhereNamingTheRankThatFailed) {
  Table table(3);
  on_ranks(3, [&](int rank) {
    ThreadExchange exchange(table, rank);
    const Status mine = rank == 1 ? Status(Code::out_of_memory, "no descriptors left") : Status();
    const Status status = agree(exchange, mine, {}).status();
    EXPECT_EQ(status.code(), Code::out_of_memory);
    EXPECT_THAT(status.text(), HasSubstr("no descriptors left"));
    EXPECT_EQ(status.text().find("rank 1") != std::string::npos, rank != 1);
  });
}

TEST(Agree, RefusesWhatABadExchangeReturns) {
  Table table(1);
  ThreadExchange fewer(table, 0, [](auto& items) { items.clear(); });
  EXPECT_EQ(agree(fewer, {}, {}).status().code(), Code::mismatch);
  ThreadExchange shorter(table, 0, [](auto& items) { items[0].pop_back(); });
  EXPECT_EQ(agree(shorter, {}, {}).status().code(), Code::corrupt);
}

}  // namespace
}  // namespace sennit::comm
