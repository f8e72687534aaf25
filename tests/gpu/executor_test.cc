// The cuda executor itself: what memory is, and how its waits end.
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <thread>

#include "base/units.h"
#include "device/cuda/check.h"
#include "device/executor.h"

namespace sennit::gpu {
namespace {

using device::CurrentDevice;
using device::Queue;
using testing::HasSubstr;

struct CudaExecutor : testing::Test {
  std::shared_ptr<device::Executor> executor;
  void SetUp() override {
    auto opened = device::open_cuda_executor();
    ASSERT_TRUE(opened.ok()) << opened.status().text();
    executor = *opened;
  }
};

TEST_F(CudaExecutor, DescribesMemory) {
  auto memory = executor->allocate(0, MiB);
  ASSERT_TRUE(memory.ok()) << memory.status().text();
  const auto inside = executor->describe(memory->data() + 4099);
  ASSERT_TRUE(inside.ok()) << inside.status().text();
  EXPECT_EQ(inside->place, device::Place::device);
  EXPECT_EQ(inside->device, 0);
  EXPECT_EQ(inside->base, memory->data());
  EXPECT_GE(inside->bytes, MiB);
  EXPECT_EQ(executor->holder(memory->data() + 4099), 0);

  auto pinned = executor->allocate_pinned(MiB);
  ASSERT_TRUE(pinned.ok());
  EXPECT_EQ(executor->describe(pinned->data() + 1)->place, device::Place::pinned);
  int local = 0;
  EXPECT_EQ(executor->describe(&local)->place, device::Place::pageable);
  EXPECT_EQ(executor->holder(pinned->data() + 1), -1);
  EXPECT_EQ(executor->holder(&local), std::nullopt);
  EXPECT_EQ(executor->holder(nullptr), std::nullopt);
}

TEST_F(CudaExecutor, SaysTheSameOfAMessageAndOfMoreThanTheAllocationHolds) {
  // More than one allocation holds is asked about step by step, a message in one call of the driver.
  const auto expect_same = [&](const std::byte* inside) {
    const auto quick = executor->describe(inside, 4096);
    ASSERT_TRUE(quick.ok()) << quick.status().text();
    const auto slow = executor->describe(inside, std::uint64_t(1) << 50);
    ASSERT_TRUE(slow.ok()) << slow.status().text();
    EXPECT_EQ(quick->place, device::Place::device);
    EXPECT_EQ(quick->device, slow->device);
    EXPECT_EQ(quick->base, slow->base);
    EXPECT_EQ(quick->identity, slow->identity);
    EXPECT_EQ(quick->allocations, 1);
    EXPECT_LE(quick->bytes, slow->bytes) << "which counts what lies behind it too";
  };
  auto memory = executor->allocate(0, 3 * MiB);
  ASSERT_TRUE(memory.ok());
  expect_same(memory->data() + 4099);
  auto small = executor->allocate(0, 5000);
  ASSERT_TRUE(small.ok());
  expect_same(small->data() + 17);
  void* of_pool = nullptr;
  ASSERT_EQ(cudaMallocAsync(&of_pool, 5 * MiB, cudaStreamPerThread), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(cudaStreamPerThread), cudaSuccess);
  expect_same(static_cast<const std::byte*>(of_pool) + 4096);
  ASSERT_EQ(cudaFreeAsync(of_pool, cudaStreamPerThread), cudaSuccess);
}

TEST_F(CudaExecutor, AReplayRecordsAnEventAndKeepsWhatItWasGiven) {
  auto lane = *executor->lane(0), other = *executor->lane(0);
  auto event = *executor->event(0), behind = *executor->event(0);
  auto kept = std::make_shared<int>();
  auto* const stream = static_cast<cudaStream_t>(lane->native());
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t replayable = nullptr;
  device::ReplayRecord record;
  std::atomic<int> passed{0};
  const auto wait = [](void* to) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    ++*static_cast<std::atomic<int>*>(to);
  };
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT_TRUE(lane->keep_in_replays(kept).ok());
  EXPECT_TRUE(lane->wait_in_replays(*event).ok());
  for (int part = 0; part < 2; ++part) {
    ASSERT_EQ(cudaLaunchHostFunc(stream, wait, &passed), cudaSuccess);
    EXPECT_TRUE(lane->record_in_replays(*event, record).ok());
  }
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  std::size_t nodes = 0;
  ASSERT_EQ(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
  EXPECT_EQ(nodes, 4U) << "it waits, does two things, and records once";
  ASSERT_EQ(cudaGraphInstantiate(&replayable, graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_TRUE(*event->done()) << "nothing was replayed";
  ASSERT_EQ(cudaGraphLaunch(replayable, stream), cudaSuccess);
  EXPECT_FALSE(*event->done()) << "from the launch on";
  EXPECT_TRUE(other->wait(*event).ok());
  EXPECT_TRUE(other->synchronize().ok());
  EXPECT_EQ(passed, 2);
  EXPECT_TRUE(*event->done());

  EXPECT_EQ(kept.use_count(), 2);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  ASSERT_EQ(cudaGraphExecDestroy(replayable), cudaSuccess);
  for (int look = 0; kept.use_count() > 1 && look < 5000; ++look)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(kept.use_count(), 1);
}

TEST_F(CudaExecutor, WhoSeesASignalOfALaneSeesWhatWasBefore) {
  auto memory = executor->allocate(0, 4 * MiB);
  auto host = executor->allocate_pinned(4 * MiB), words = executor->allocate_pinned(64);
  auto lane = executor->lane(0);
  ASSERT_TRUE(memory.ok() && host.ok() && words.ok() && lane.ok());
  auto* const word = reinterpret_cast<device::Word*>(words->data());
  *word = 0;
  for (device::Word number = 1; number <= 20; ++number) {
    const auto filled = std::byte(number);
    ASSERT_EQ(cudaMemset(memory->data(), static_cast<int>(number), 4 * MiB), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    ASSERT_TRUE((*lane)->copy(host->data(), memory->data(), 4 * MiB).ok());
    ASSERT_TRUE((*lane)->signal(word, number).ok());
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (std::atomic_ref(*word).load(std::memory_order_acquire) != number)
      ASSERT_LT(std::chrono::steady_clock::now(), until);
    EXPECT_EQ(host->data()[0], filled);
    EXPECT_EQ(host->data()[4 * MiB - 1], filled);
  }
}

TEST_F(CudaExecutor, SaysOfManagedMemoryThatItIs) {
  void* managed = nullptr;
  ASSERT_EQ(cudaMallocManaged(&managed, MiB), cudaSuccess);
  const auto location = executor->describe(managed, 4096);
  ASSERT_TRUE(location.ok()) << location.status().text();
  EXPECT_EQ(location->place, device::Place::managed);
  ASSERT_EQ(cudaFree(managed), cudaSuccess);
}

TEST_F(CudaExecutor, RefusesWhatIsNoMemory) {
  EXPECT_THAT(executor->describe(nullptr).status().text(), HasSubstr("null pointer"));
  const void* freed = nullptr;
  {
    auto memory = executor->allocate(0, 64 * MiB);
    ASSERT_TRUE(memory.ok());
    freed = memory->data();
  }
  EXPECT_FALSE(executor->describe(freed).ok());
  EXPECT_THAT(executor->allocate(999, 1).status().text(), HasSubstr("999"));
  const auto everything = executor->allocate(0, std::uint64_t(1) << 50);
  EXPECT_EQ(everything.status().code(), Code::out_of_memory) << everything.status().text();
}

TEST_F(CudaExecutor, AThreadsOwnStreamIsAnotherOneInEveryThread) {
  auto lane = executor->adopt(0, cudaStreamPerThread);
  auto again = executor->adopt(0, cudaStreamPerThread);
  auto legacy = executor->adopt(0, nullptr);
  ASSERT_TRUE(lane.ok()) << lane.status().text();
  const Queue here = (*lane)->queue();
  EXPECT_TRUE((*again)->queue().is_same_stream(here));
  EXPECT_FALSE((*legacy)->queue().is_same_stream(here));
  Queue there;
  std::thread([&] { there = (*lane)->queue(); }).join();
  EXPECT_FALSE(there.is_same_stream(here));
  auto memory = executor->allocate(0, 64);
  ASSERT_TRUE(memory.ok());
  const int sent = 7;
  int received = 0;
  ASSERT_TRUE((*lane)->copy(memory->data(), &sent, sizeof sent).ok());
  ASSERT_TRUE((*lane)->copy(&received, memory->data(), sizeof received).ok());
  ASSERT_TRUE((*lane)->synchronize().ok());
  EXPECT_EQ(received, sent);
}

TEST_F(CudaExecutor, AStreamWithTheHandleOfADestroyedOneIsAnotherStream) {
  const CurrentDevice current(0);
  std::map<cudaStream_t, Queue> destroyed;
  bool came_again = false;
  for (int round = 0; round < 100 && !came_again; ++round) {
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
    auto lane = executor->adopt(0, stream);
    ASSERT_TRUE(lane.ok()) << lane.status().text();
    const Queue queue = (*lane)->queue();
    EXPECT_TRUE(queue.is_same_stream((*lane)->queue()));
    const auto [before, is_new] = destroyed.try_emplace(stream, queue);
    came_again = !is_new;
    EXPECT_FALSE(came_again && queue.is_same_stream(before->second));
    ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  }
  EXPECT_TRUE(came_again) << "CUDA gave no handle again";
}

TEST_F(CudaExecutor, AskingForTheQueueLeavesACaptureAsItIs) {
  const CurrentDevice current(0);
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  auto lane = executor->adopt(0, stream);
  ASSERT_TRUE(lane.ok()) << lane.status().text();
  const Queue before = (*lane)->queue();
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  const Queue inside = (*lane)->queue();
  EXPECT_NE(inside.capture, 0U);
  EXPECT_TRUE(inside.is_same_stream(before));
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST_F(CudaExecutor, GivesAReallocationAnotherIdentity) {
  std::uint64_t first = 0;
  {
    auto memory = executor->allocate(0, 64 * MiB);
    ASSERT_TRUE(memory.ok());
    first = executor->describe(memory->data())->identity;
  }
  auto memory = executor->allocate(0, 64 * MiB);
  ASSERT_TRUE(memory.ok());
  EXPECT_NE(executor->describe(memory->data())->identity, first);
}

/// Whether a process has begun with device 0.
bool is_device_0_in_use() {
  void* const driver = dlopen("libcuda.so.1", RTLD_LAZY);
  const auto state = reinterpret_cast<int (*)(int, unsigned*, int*)>(dlsym(driver, "cuDevicePrimaryCtxGetState"));
  unsigned flags = 0;
  int active = -1;
  return state == nullptr || state(0, &flags, &active) != 0 || active != 0;
}

TEST(CudaExecutorOfAThread, TakesNoMemoryOnOtherDevices) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices < 2) GTEST_SKIP() << "there is one GPU";
  testing::FLAGS_gtest_death_test_style = "threadsafe";  // another process, which has not begun with any device
  const auto work = [] {
    bool good = false;
    std::thread([&] {
      auto executor = device::open_cuda_executor(1);
      if (!executor.ok()) return;
      auto memory = (*executor)->allocate(1, MiB);
      auto lane = (*executor)->lane(1);
      good = memory.ok() && lane.ok() && (*lane)->synchronize().ok() && !is_device_0_in_use();
      lane = Status(Code::aborted, "over");
      memory = Status(Code::aborted, "over");
      *executor = nullptr;
      good = good && !is_device_0_in_use();
    }).join();
    std::exit(good ? 0 : 1);
  };
  EXPECT_EXIT(work(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace sennit::gpu
