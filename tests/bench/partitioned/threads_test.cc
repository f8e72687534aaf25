#include "bench/partitioned/threads.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <set>

#include <gtest/gtest.h>

namespace sennit::bench::partitioned {
namespace {

Plan plan(int threads, int partitions, double compute_us = 0) {
  Plan made;
  made.crew = {threads, partitions};
  made.compute_us = compute_us;
  return made;
}

TEST(Threads, EveryPartitionBecomesReadyOnceInEachIteration) {
  for (const auto& [threads, partitions] : {std::pair(1, 4), std::pair(3, 8), std::pair(8, 3)}) {
    Threads crew(threads, Compute::slept);
    for (int iteration = 0; iteration < 20; ++iteration) {
      std::mutex mutex;
      std::multiset<int> ready;
      const Ran ran = crew.run(plan(threads, partitions), iteration, [&](int partition) {
        const std::lock_guard lock(mutex);
        ready.insert(partition);
        return 0;
      });
      EXPECT_EQ(ran.code, 0);
      EXPECT_EQ(int(ready.size()), partitions);
      EXPECT_EQ(int(std::set(ready.begin(), ready.end()).size()), partitions);
      ASSERT_EQ(int(ran.iteration.partitions.size()), partitions);
      for (const Partition& each : ran.iteration.partitions) {
        EXPECT_GE(each.ready_us, ran.iteration.start_us);
        EXPECT_GE(each.returned_us, each.ready_us);
        EXPECT_LE(each.returned_us, ran.iteration.joined_us);
      }
    }
  }
}

TEST(Threads, ComputeBeforeTheirPartitionsInTheirOrder) {
  for (const Compute how : {Compute::spun, Compute::slept}) {
    Threads crew(1, how);
    Plan made = plan(1, 4, 400);
    made.order.kind = Order::Kind::inverse;
    const Ran ran = crew.run(made, 0, [](int) { return 0; });
    const auto& partitions = ran.iteration.partitions;
    double before_us = ran.iteration.start_us;
    for (const int partition : {3, 2, 1, 0}) {
      EXPECT_GE(partitions[std::size_t(partition)].ready_us, before_us + 100 - 1e-3);
      before_us = partitions[std::size_t(partition)].returned_us;
    }
  }
}

TEST(Threads, AWholeMessageHasNoPartitionsYet) {
  Threads crew(2, Compute::slept);
  const Ran ran = crew.run(plan(2, 4, 200), 0, {});
  EXPECT_TRUE(ran.iteration.partitions.empty());
  EXPECT_GE(ran.iteration.joined_us, ran.iteration.start_us + 200 - 1e-3);
}

TEST(Threads, TheFirstErrorIsKept) {
  Threads crew(1, Compute::spun);
  const Ran ran = crew.run(plan(1, 4), 0, [](int partition) { return partition < 2 ? 0 : 10 * partition; });
  EXPECT_EQ(ran.code, 20);
}

TEST(Threads, WaitForWhatAPartitionNeedsBeforeTheyCompute) {
  Threads crew(2, Compute::spun);
  std::array<std::atomic<double>, 4> needed{};
  const Ran ran = crew.run(
      plan(2, 4, 200), 0, [](int) { return 0; }, [&](int partition) { needed[std::size_t(partition)] = now_us(); });
  for (std::size_t partition = 0; partition < 4; ++partition) {
    EXPECT_GT(needed[partition].load(), 0);
    EXPECT_GE(ran.iteration.partitions[partition].ready_us, needed[partition].load() + 100 - 1e-3);
  }
}

}  // namespace
}  // namespace sennit::bench::partitioned
