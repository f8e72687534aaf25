#include "shim/recorder/kernel_times.h"

#include <cstring>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "named_recorder.h"
#include "profile/rank.h"
#include "shim/recorder/gpu_driver.h"

namespace sennit::shim::recorder {
namespace {

constexpr int kLimitReached = 12;  // CUPTI_ERROR_MAX_LIMIT_REACHED

/// A CUPTI whose records the tests write, each into a buffer of its own.
struct FakeCupti {
  int subscribers = 0, refusal = 0;
  void (*callback)(void*, int, std::uint32_t, const void*) = nullptr;
  std::vector<std::uint32_t> wanted;  // callbacks
  std::map<int, int> enabled;
  std::uint64_t now = 1000;
  std::vector<std::uint64_t> pushed;
  Cupti::BufferRequested requested = nullptr;
  Cupti::BufferCompleted completed = nullptr;

  template <class Record>
  void give(const Record& record) const {
    std::uint8_t* buffer = nullptr;
    std::size_t bytes = 0, most = 0;
    requested(&buffer, &bytes, &most);
    ASSERT_GE(bytes, sizeof record);
    std::memcpy(buffer, &record, sizeof record);
    completed(nullptr, 0, buffer, bytes, sizeof record);
  }
  void correlate(std::uint32_t correlation, std::uint64_t number, int kind = kCorrelationKind) const {
    give(CorrelationRecord{39, static_cast<std::uint32_t>(kind), number, correlation, 0});
  }
  /// A node of a graph that this thread makes, or a copy.
  void make_node(std::uintptr_t number, std::uintptr_t original = 0) const {
    const GraphData graph{nullptr, nullptr, reinterpret_cast<void*>(number), reinterpret_cast<void*>(original)};
    const ResourceData data{nullptr, nullptr, &graph};
    callback(nullptr, kResourceDomain, original != 0 ? kGraphNodeCloned : kGraphNodeCreated, &data);
  }
  void run(std::uint32_t correlation, std::uint64_t begin, std::uint64_t end, std::uint64_t graph_node = 0) const {
    KernelRecord record{};
    record.kind = 10;
    record.correlation = correlation;
    record.begin = begin;
    record.end = end;
    record.graph_node = graph_node;
    give(record);
  }
};
FakeCupti* fake = nullptr;

Cupti functions() {
  Cupti made;
  made.subscribe = [](void** subscriber, void* callback, void*) {
    *subscriber = fake;
    fake->callback = reinterpret_cast<decltype(fake->callback)>(callback);
    if (fake->refusal == 0) ++fake->subscribers;
    return fake->refusal;
  };
  made.unsubscribe = [](void*) {
    --fake->subscribers;
    return 0;
  };
  made.register_callbacks = [](Cupti::BufferRequested requested, Cupti::BufferCompleted completed) {
    fake->requested = requested;
    fake->completed = completed;
    return 0;
  };
  made.enable = [](int kind) {
    ++fake->enabled[kind];
    return 0;
  };
  made.disable = [](int kind) {
    --fake->enabled[kind];
    return 0;
  };
  made.enable_callback = [](std::uint32_t, void*, int, std::uint32_t id) {
    fake->wanted.push_back(id);
    return 0;
  };
  made.graph_node_id = [](void* node, std::uint64_t* id) {
    *id = reinterpret_cast<std::uintptr_t>(node);
    return 0;
  };
  made.flush_all = [](std::uint32_t) { return 0; };
  made.next_record = [](std::uint8_t* buffer, std::size_t, void** record) {
    if (*record != nullptr) return kLimitReached;
    *record = buffer;
    return 0;
  };
  made.push = [](int, std::uint64_t id) {
    fake->pushed.push_back(id);
    return 0;
  };
  made.pop = [](int, std::uint64_t* id) {
    *id = fake->pushed.back();
    fake->pushed.pop_back();
    return 0;
  };
  made.timestamp = [](std::uint64_t* ns) {
    *ns = fake->now;
    return 0;
  };
  return made;
}

class KernelTimesTest : public testing::Test {
 protected:
  KernelTimesTest() : recorder_(named_recorder()) { fake = &cupti_; }

  std::uint64_t call(KernelTimes& times, std::uint64_t calls = 1) {
    const std::uint64_t number = times.begin_call();
    times.end_call(number, {profile::Class{.function = 0, .bin = 5}, calls});
    return number;
  }
  profile::Rank read() const { return profile::read_rank(recorder_->bytes(), "made up").value(); }

  FakeCupti cupti_;
  std::unique_ptr<profile::Recorder> recorder_;
};

TEST_F(KernelTimesTest, KernelsBelongToCallsByNumberInWhateverOrderRecordsCome) {
  auto times = KernelTimes::begin(functions()).value();
  const std::uint64_t first = call(*times), second = call(*times, 3), alone = call(*times);
  cupti_.run(2, 2100, 2300);  // before it is known whose it is
  cupti_.run(1, 2000, 2100);
  cupti_.correlate(1, first);
  cupti_.run(9, 2050, 2200);                          // of none
  cupti_.correlate(9, second, kCorrelationKind - 1);  // another tool's number
  cupti_.correlate(2, second);
  cupti_.correlate(3, second);
  cupti_.run(3, 2250, 2400);  // a second one, in part at the same time
  cupti_.correlate(4, alone);
  cupti_.run(5, 2000, 2500, 77);  // of a graph
  EXPECT_TRUE(cupti_.pushed.empty());
  times->finish(*recorder_);
  const profile::Rank rank = read();
  ASSERT_EQ(rank.sums.size(), 1u);
  EXPECT_EQ(rank.sums[0].device_calls, 4u) << "a call without kernels is not timed";
  EXPECT_EQ(rank.sums[0].device_ns, 100u + 300u);
  EXPECT_EQ(rank.kernels.kernels, 5u);
  EXPECT_EQ(rank.kernels.of_graphs, 1u);
  EXPECT_EQ(rank.kernels.communication_ns, 400u);
  EXPECT_EQ(rank.kernels.computation_ns, 150u);
  EXPECT_EQ(rank.kernels.both_ns, 150u);
  EXPECT_EQ(cupti_.subscribers, 0);
  for (const auto& [kind, count] : cupti_.enabled) EXPECT_EQ(count, 0) << kind;
}

TEST_F(KernelTimesTest, SettlesMeanwhileWithoutLosingWhatComesLate) {
  auto times = KernelTimes::begin(functions()).value();
  std::uint64_t calls = 0;
  for (std::uint32_t i = 1; i <= 100; ++i) {
    const std::uint64_t number = call(*times);
    cupti_.correlate(i, number);
    if (i > 2) cupti_.run(i - 2, 1000 * i, 1000 * i + 10);  // GPUs are two calls behind
    cupti_.now = 1000 * i + 500;
    times->settle(*recorder_);
    if (i == 50) calls = read().sums.at(0).device_calls;
  }
  EXPECT_GT(calls, 40u);
  times->finish(*recorder_);
  EXPECT_EQ(read().sums.at(0).device_calls, 98u);
  EXPECT_EQ(read().sums.at(0).device_ns, 980u);
  EXPECT_EQ(read().kernels.communication_ns, 980u);
}

TEST_F(KernelTimesTest, WhatBeginsAfterTheEndDoesNotCount) {
  auto times = KernelTimes::begin(functions()).value();
  const std::uint64_t number = call(*times);
  cupti_.now = 5000;
  times->close();
  cupti_.correlate(1, number);
  cupti_.run(1, 4900, 5100);
  cupti_.run(2, 5000, 5100);
  cupti_.run(3, 4000, 0);  // runs still
  times->finish(*recorder_);
  EXPECT_EQ(read().sums.at(0).device_ns, 200u);
  EXPECT_EQ(read().kernels.communication_ns, 100u);
  EXPECT_EQ(read().kernels.computation_ns, 0u);
  EXPECT_EQ(read().kernels.lost, 1u);
}

TEST_F(KernelTimesTest, KernelsOfGraphsAreOfTheCallsThatWereCaptured) {
  auto times = KernelTimes::begin(functions()).value();
  EXPECT_EQ(cupti_.wanted, (std::vector<std::uint32_t>{kGraphNodeCreated, kGraphNodeCloned}));
  cupti_.make_node(10);  // the program's
  const std::uint64_t number = times->begin_call();
  cupti_.make_node(11);
  cupti_.make_node(12);
  {
    const OwnWork own;
    cupti_.make_node(13);
  }
  times->end_call(number, {profile::Class{.function = 0, .bin = 5}, 2});
  for (std::uintptr_t node = 10; node <= 14; ++node) cupti_.make_node(node + 10, node);  // the graph is made ready
  for (std::uint32_t launch = 1; launch <= 3; ++launch) {  // replays, in which nodes run at the same time
    const std::uint64_t begin = 10000 * launch;
    cupti_.run(launch, begin, begin + 100, 20);
    cupti_.run(launch, begin + 50, begin + 250, 21);
    cupti_.run(launch, begin + 200, begin + 350, 22);
    for (const std::uint64_t nobodys : {23, 24, 99}) cupti_.run(launch, begin + 400, begin + 500, nobodys);
    cupti_.now = begin + 1000;
    times->settle(*recorder_);
  }
  times->finish(*recorder_);
  const profile::Rank rank = read();
  ASSERT_EQ(rank.sums.size(), 1u);
  EXPECT_EQ(rank.sums[0].device_calls, 3u * 2u);
  EXPECT_EQ(rank.sums[0].device_ns, 3u * 300u);
  EXPECT_EQ(rank.kernels.of_graphs, 3u * 3u) << "of the recorder, and of nodes that nobody has seen";
  EXPECT_EQ(rank.kernels.communication_ns, 3u * 300u);
  EXPECT_EQ(rank.kernels.computation_ns, 3u * 100u);
  EXPECT_EQ(rank.kernels.both_ns, 3u * 50u);
}

TEST_F(KernelTimesTest, WhatBeginsInAPauseDoesNotCount) {
  auto times = KernelTimes::begin(functions()).value();
  for (const std::uint64_t begin : {5000, 7000}) {
    for (const bool paused : {true, true, false, false}) {
      cupti_.now = begin + (paused ? 0 : 1000);
      times->pause(paused);
    }
  }
  for (const std::uint64_t begin : {4900, 5000, 5999, 6000, 7500, 8000}) cupti_.run(9, begin, begin + 10);
  cupti_.now = 9000;
  times->pause(true);
  cupti_.run(9, 9000, 9010);
  times->finish(*recorder_);
  EXPECT_EQ(read().kernels.kernels, 3u);
  EXPECT_EQ(read().kernels.computation_ns, 30u);
}

TEST_F(KernelTimesTest, RefusesBesideAnotherProfiler) {
  cupti_.refusal = kMultipleSubscribers;
  const auto made = KernelTimes::begin(functions());
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.status().text().find("another profiler"), std::string::npos);
  EXPECT_TRUE(cupti_.enabled.empty());
  EXPECT_EQ(cupti_.subscribers, 0);
}

}  // namespace
}  // namespace sennit::shim::recorder
