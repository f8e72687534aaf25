#include "shim/nccl/trial.h"

#include <gtest/gtest.h>

#include "base/units.h"
#include "comm/thread_exchange.h"
#include "path/machines.h"

namespace sennit::shim::nccl {
namespace {

TEST(ByRails, WhereTheSizesAroundWereFaster) {
  const std::vector<Tried> tried{{1 * MiB, 10, 20}, {4 * MiB, 40, 30}, {16 * MiB, 160, 100}};
  EXPECT_FALSE(by_rails(tried, 1 * MiB));
  EXPECT_FALSE(by_rails(tried, 2 * MiB)) << "between one and another";
  EXPECT_TRUE(by_rails(tried, 4 * MiB));
  EXPECT_TRUE(by_rails(tried, 5 * MiB));
  EXPECT_TRUE(by_rails(tried, 1 * GiB)) << "as the longest";
}

TEST(ByRails, ShorterThanAllNever) {
  EXPECT_FALSE(by_rails(std::vector<Tried>{{4 * MiB, 40, 30}}, 4 * MiB - 1));
  EXPECT_FALSE(by_rails({}, 4 * MiB)) << "nothing was tried";
}

TEST(ByRails, WithinTheNoiseIsNotFaster) {
  EXPECT_FALSE(by_rails(std::vector<Tried>{{4 * MiB, 40, 39}}, 4 * MiB));
}

/// Two ranks, each a node of its own for the lanes' part, in one exchange. `sums`: what an allreduce gives.
void on_two(const std::function<Status(path::Node&, const std::byte*, std::byte*, std::uint64_t)>& sums,
            const std::function<void(const Result<std::vector<Tried>>&)>& look) {
  comm::Table table(2);
  comm::on_ranks(2, [&](int rank) {
    auto node = path::Node::create(comm::alone(), *device::open_host_executor(),
                                   {0, path::machine_of_the_host_executor(), std::chrono::seconds(60)});
    ASSERT_TRUE(node.ok()) << node.status().text();
    comm::ThreadExchange all(table, rank);
    const Enqueued way = [&](const std::byte* input, std::byte* output, std::uint64_t bytes) {
      return sums(**node, input, output, bytes);
    };
    const std::uint64_t sizes[] = {4096, 16384};
    look(try_out(all, **node, way, way, sizes));
  });
}

TEST(TryOut, LooksAtTheSumsAndTimesBothWays) {
  // Rank r gives r + i % 251 as number i: two ranks' sum is known.
  on_two(
      [](path::Node& node, const std::byte*, std::byte* output, std::uint64_t bytes) {
        std::vector<float> sum(bytes / sizeof(float));
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = 2 * static_cast<float>(i % 251) + 1;
        auto status = node.lane().copy(output, sum.data(), bytes);
        return status.ok() ? node.lane().synchronize() : status;
      },
      [](const Result<std::vector<Tried>>& tried) {
        ASSERT_TRUE(tried.ok()) << tried.status().text();
        ASSERT_EQ(tried->size(), 2u);
        EXPECT_EQ((*tried)[1].bytes, 16384u);
        EXPECT_GT((*tried)[0].nccl_us, 0);
        EXPECT_GT((*tried)[0].rails_us, 0);
      });
}

TEST(TryOut, WrongSumsAreRefusedOnEveryRank) {
  on_two([](path::Node& node, const std::byte* input, std::byte* output,
            std::uint64_t bytes) { return node.lane().copy(output, input, bytes); },
         [](const Result<std::vector<Tried>>& tried) { EXPECT_EQ(tried.status().code(), Code::corrupt); });
}

}  // namespace
}  // namespace sennit::shim::nccl
