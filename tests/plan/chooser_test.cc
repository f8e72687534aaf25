// Ranks of one node as threads of this process, each with a chooser.
#include "plan/chooser.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "base/environment.h"
#include "comm/thread_exchange.h"
#include "made_up.h"

namespace sennit::plan {
namespace {

machine::Machine machine_of_host_devices() {
  machine::Machine machine = measured_machine();
  for (machine::Device& device : machine.devices)
    if (device.kind == machine::DeviceKind::gpu) device.uuid = "HOST-" + device.id.substr(3);
  return machine;
}

auto node_of(comm::Table& meeting, int rank) {
  return node::Node::create(std::make_unique<comm::ThreadExchange>(meeting, rank), *device::open_host_executor(),
                            {rank, machine_of_host_devices(), std::chrono::seconds(60)});
}

/// Runs work(node, chooser) on two ranks, whose own tables are given.
void on_choosers(const std::vector<Table>& tables, const std::function<void(node::Node&, Chooser&)>& work) {
  comm::Table meeting(2);
  comm::on_ranks(2, [&](int rank) {
    auto node = node_of(meeting, rank);
    ASSERT_TRUE(node.ok()) << node.status().text();
    Chooser chooser(tables[static_cast<std::size_t>(rank)]);
    const auto status = chooser.meet(**node, team_of(2), small_table().scratch_bytes);
    ASSERT_TRUE(status.ok()) << status.text();
    work(**node, chooser);
    EXPECT_TRUE((*node)->group().exchange().barrier().ok());
  });
}

TEST(Chooser, FollowsTheTable) {
  on_choosers({small_table(), small_table()}, [](node::Node&, Chooser& chooser) {
    EXPECT_EQ(chooser.plan(allreduce_of(MiB)), kRing);
    EXPECT_EQ(chooser.call(allreduce_of(4 * MiB)), kTwoShot);
  });
}

TEST(Chooser, ATableIsHeldAgainstTheScratchThatIsThere) {
  setenv("SENNIT_SCRATCH", "16M", 1);  // as another rank's may be that is not rank 0
  on_choosers({small_table(), small_table()},
              [](node::Node&, Chooser& chooser) { EXPECT_EQ(chooser.plan(allreduce_of(MiB)), kRing); });
  unsetenv("SENNIT_SCRATCH");
}

TEST(Chooser, WithoutATableForItTheModelServes) {
  on_choosers({small_table(), small_table()}, [](node::Node& node, Chooser& chooser) {
    const coll::CallKey which{coll::Operation::broadcast, coll::Arithmetic::none, MiB};
    EXPECT_EQ(chooser.plan(which), coll::choose(which, team_of(2), node.executor().kind(), {}));
  });
}

TEST(Chooser, ATableThatOnlySomeHaveIsNotUsed) {
  Table other = small_table();
  other.entries.front().plans.front().us += 1;
  for (const Table& theirs : {Table(), other})
    on_choosers({small_table(), theirs}, [](node::Node& node, Chooser& chooser) {
      EXPECT_EQ(chooser.plan(allreduce_of(MiB)),
                coll::choose(allreduce_of(MiB), team_of(2), node.executor().kind(), {}));
    });
}

TEST(Chooser, ATableOfAnotherMachineIsNotUsed) {
  Table table = small_table();
  table.fingerprint = "fedcba9876543210";
  on_choosers({table, table}, [](node::Node& node, Chooser& chooser) {
    EXPECT_EQ(chooser.plan(allreduce_of(MiB)),
              coll::choose(allreduce_of(MiB), team_of(2), node.executor().kind(), {}));
  });
}

// What each rank's chooser says that looks for a table of its own, which SENNIT_TABLE names.
Status met_by(const std::string& named) {
  setenv("SENNIT_TABLE", named.c_str(), 1);
  Status first;
  comm::Table meeting(2);
  comm::on_ranks(2, [&](int rank) {
    auto node = node_of(meeting, rank);
    ASSERT_TRUE(node.ok()) << node.status().text();
    Chooser chooser;
    const auto status = chooser.meet(**node, team_of(2), small_table().scratch_bytes);
    if (rank == 0) first = status;
    EXPECT_TRUE((*node)->group().exchange().barrier().ok());
  });
  unsetenv("SENNIT_TABLE");
  return first;
}

TEST(Chooser, ANamedTableHasToBeReadableAndMayNotSuit) {
  const auto file = std::filesystem::path(testing::TempDir()) / ("chooser-" + std::to_string(::getpid()) + ".json");
  EXPECT_TRUE(met_by("none").ok());
  EXPECT_EQ(met_by(file.string()).code(), Code::not_found);
  Table table = small_table();
  table.fingerprint = "fedcba9876543210";
  ASSERT_TRUE(write_json(file, to_json(table)).ok());
  EXPECT_TRUE(met_by(file.string()).ok());
  std::filesystem::remove(file);
}

TEST(Chooser, APlanThatStaysSlowIsReplacedAtTheSameCallOnEveryRank) {
  constexpr int kCalls = 12 * int(PlanSwitch::kSamplePeriod);  // eight samples must be slow
  std::vector<std::vector<coll::Plan>> taken(2);
  std::array<std::atomic<int>, 2> at{};
  on_choosers({small_table(), small_table()}, [&](node::Node& node, Chooser& chooser) {
    auto& own = taken[static_cast<std::size_t>(node.rank())];
    // Instead of the 24 µs of the table a call that is timed takes as long as copying so much, at 440 GB/s and less.
    constexpr std::uint64_t kMuch = 16 * MiB;
    auto from = std::move(*node.executor().allocate(node.device(), kMuch));
    auto to = std::move(*node.executor().allocate(node.device(), kMuch));
    for (int i = 0; i < kCalls; ++i) {
      // As ranks do whose GPUs wait for each other: some calls ahead, but not all.
      const auto rank = static_cast<std::size_t>(node.rank());
      at[rank].store(i);
      while (i > at[1 - rank].load() + 40) std::this_thread::yield();
      own.push_back(chooser.call(allreduce_of(4 * MiB)));
      ASSERT_TRUE(chooser.starts(node.lane()).ok());
      const bool timed = std::uint64_t(i + 1) % PlanSwitch::kSamplePeriod == 0;
      ASSERT_TRUE(!timed || node.lane().copy(to.data(), from.data(), kMuch).ok());
      ASSERT_TRUE(chooser.ends(node.lane()).ok());
      const bool rests = i % (node.rank() == 0 ? 3 : 19) == 0;
      ASSERT_TRUE(!rests || node.synchronize(node.lane()).ok());
    }
    ASSERT_TRUE(node.synchronize(node.lane()).ok());
  });
  EXPECT_EQ(taken[0], taken[1]);
  EXPECT_EQ(taken[0].front(), kTwoShot);
  EXPECT_EQ(std::ranges::count(taken[0], kRing) > 0, true);
}

}  // namespace
}  // namespace sennit::plan
