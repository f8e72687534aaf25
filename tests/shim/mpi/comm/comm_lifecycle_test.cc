// How sennit's communicator beside one of the program's is made, and what it does.
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm_ranks.h"
#include "machine/cache.h"
#include "machine/known.h"
#include "machine/made_up.h"
#include "node/extras.h"

namespace sennit::shim::mpi {
namespace {

TEST(CommLifecycle, ARankWithoutGpuLeavesAllWithoutCounterpart) {
  ThreadWorld world;
  on_threads(world, 2, [](ThreadMpi& mpi, int thread) {
    const auto all = create(mpi);
    auto& one = meet(*all, kWorld);
    auto executor = device::open_host_executor();
    if (thread == 1) executor = Status(Code::unsupported, "no GPU here");
    all->match(kWorld, one, std::move(executor), 0);
    EXPECT_TRUE(one.tried);
    EXPECT_EQ(one.communicator, nullptr);
    EXPECT_THAT(one.why_not, testing::HasSubstr("no GPU here"));
    all->forget_all();
  });
}

TEST(CommLifecycle, ACounterpartDoesTheirWork) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "two mappings of one memory are two to ThreadSanitizer";
#endif
  ThreadWorld world;
  world.add(kFirst, {1, 0});
  on_threads(world, 2, [](ThreadMpi& mpi, int thread) {
    const auto all = create(mpi);
    auto& one = meet(*all, kFirst);
    auto executor = *device::open_host_executor();
    all->match(kFirst, one, executor, thread);
    ASSERT_NE(one.communicator, nullptr) << one.why_not;
    EXPECT_EQ(one.communicator->device(), thread);
    auto memory = std::move(*executor->allocate(thread, 64));
    auto* const numbers = reinterpret_cast<float*>(memory.data());
    for (int i = 0; i < 3; ++i) numbers[i] = static_cast<float>(10 * thread + i);
    // As a Reduce_scatter of 1 and 2 numbers in place: the whole sum goes to
    // scratch memory.
    Work work;
    work.request.count = 3;
    work.request.reduction.type = device::Type::float32;
    work.request.input = numbers;
    work.scratch_bytes = 12;
    work.result_from = one.shape.rank == 0 ? 0 : 4;
    work.result_bytes = one.shape.rank == 0 ? 4 : 8;
    work.result = numbers;
    const auto status = one.communicator->perform(work);
    ASSERT_TRUE(status.ok()) << status.text();
    const float own = static_cast<float>(10 * thread);
    EXPECT_EQ(numbers[0], one.shape.rank == 0 ? 10.0F : 12.0F);
    EXPECT_EQ(numbers[1], one.shape.rank == 0 ? own + 1 : 14.0F);
    EXPECT_EQ(numbers[2], own + 2);
    EXPECT_FALSE(one.communicator->plan_of(work).empty());
    all->forget(kFirst, nothing_meanwhile);
    all->forget_all();
  });
}

TEST(CommLifecycle, WhoHasNoGpuLeavesAllWithoutACounterpartMadeMeanwhile) {
  ThreadWorld world;
  on_threads(world, 2, [](ThreadMpi& mpi, int thread) {
    const auto all = create(mpi);
    auto& one = meet(*all, kWorld);
    EXPECT_EQ(all->matched(one), std::nullopt) << "never begun";
    auto executor = device::open_host_executor();
    if (thread == 1) executor = Status(Code::unsupported, "no GPU here");
    all->begin_to_match(one, std::move(executor), 0);
    std::optional<bool> has;
    while (!(has = all->matched(one))) std::this_thread::yield();
    EXPECT_FALSE(*has);
    EXPECT_THAT(one.why_not, testing::HasSubstr("no GPU here"));
    all->forget_all();
  });
}

void make_counterparts_meanwhile() {
  ThreadWorld world;
  world.add(kFirst, {1, 0});
  on_threads(world, 2, [](ThreadMpi& mpi, int thread) {
    const auto all = create(mpi);
    auto executor = *device::open_host_executor();
    auto& one = meet(*all, kFirst);
    all->begin_to_match(one, executor, thread);
    while (!all->matched(one)) std::this_thread::yield();
    ASSERT_NE(one.on_node, nullptr) << one.why_not;
    const auto own = all->repeat(kFirst, one, executor, thread, nothing_meanwhile);
    ASSERT_NE(own->on_node, nullptr) << own->why_not;
    EXPECT_NE(own->slot, one.slot);
    auto memory = std::move(*executor->allocate(thread, 64));
    auto* const numbers = reinterpret_cast<float*>(memory.data());
    *numbers = static_cast<float>(thread + 1);
    for (OneNode* with : {one.on_node, own->on_node}) {
      Work work;
      work.request.count = 1;
      work.request.reduction.type = device::Type::float32;
      work.request.input = work.request.output = numbers;
      ASSERT_TRUE(with->begin(work).ok());
      for (;;) {
        const auto ended = with->ended();
        ASSERT_TRUE(ended.ok()) << ended.status().text();
        if (*ended) break;
        std::this_thread::yield();
      }
    }
    EXPECT_EQ(*numbers, 6.0F);
    all->forget(kFirst, nothing_meanwhile);
    all->forget_all();
  });
}

TEST(CommLifecycle, CounterpartsAreMadeMeanwhile) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "two mappings of one memory are two to ThreadSanitizer";
#endif
  make_counterparts_meanwhile();
}

// What is known of a measured machine is longer than a word between processes may be.
TEST(CommLifecycle, CounterpartsAreMadeMeanwhileOnAMeasuredMachine) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "two mappings of one memory are two to ThreadSanitizer";
#endif
  const char* const before = std::getenv("SENNIT_CACHE");
  const std::string kept = before != nullptr ? before : "";
  ASSERT_EQ(setenv("SENNIT_CACHE", machine::scratch_folder().c_str(), 1), 0);
  {
    const auto executor = *device::open_host_executor();
    auto known = machine::known_machine({}, device::name(executor->kind()), node::extras_of(*executor));
    ASSERT_TRUE(known.ok()) << known.status().text();
    machine::Machine measured = known->machine;
    measured.description = std::string(100'000, 'x');  // as long as what is said of all links of eight GPUs
    const auto stored = machine::store_cached(measured);
    ASSERT_TRUE(stored.ok()) << stored.status().text();
    make_counterparts_meanwhile();
  }
  ASSERT_EQ(before != nullptr ? setenv("SENNIT_CACHE", kept.c_str(), 1) : unsetenv("SENNIT_CACHE"), 0);
}

}  // namespace
}  // namespace sennit::shim::mpi
