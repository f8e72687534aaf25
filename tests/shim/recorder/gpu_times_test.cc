#include "shim/recorder/gpu_times.h"

#include <map>
#include <memory>

#include <gtest/gtest.h>

#include "profile/rank.h"

namespace sennit::shim::recorder {
namespace {

/// A driver of two contexts, on which nothing happens until it is told: events have the time when they were recorded,
/// and have happened once `done` has reached it.
struct Gpu {
  std::map<void*, float> recorded;  // ms, by event
  std::vector<void*> contexts;      // the current one last
  float now = 0, done = 0;
  int events = 0, mode = 0, queried_in_capture = 0;
  bool gone = false, busy = false;

  int state_of(void* event) {
    if (mode != 2) ++queried_in_capture;
    if (gone) return 709;  // CUDA_ERROR_CONTEXT_IS_DESTROYED
    return recorded.at(event) <= done ? 0 : 600;
  }
};
Gpu* gpu = nullptr;

void* as_pointer(std::uintptr_t number) {
  return reinterpret_cast<void*>(number);
}
void* const kStream = as_pointer(0x1000);
void* const kOtherStream = as_pointer(0x2000);  // of context 2

GpuDriver driver() {
  GpuDriver made;
  made.current = [](void** context) {
    *context = gpu->contexts.empty() ? nullptr : gpu->contexts.back();
    return 0;
  };
  made.context_of = [](void* stream, void** context) {
    *context = as_pointer(stream == kStream ? 1 : 2);
    return 0;
  };
  made.push = [](void* context) {
    gpu->contexts.push_back(context);
    return 0;
  };
  made.pop = [](void** context) {
    *context = gpu->contexts.back();
    gpu->contexts.pop_back();
    return 0;
  };
  made.create = [](void** event, unsigned) {
    *event = as_pointer(static_cast<std::uintptr_t>(++gpu->events) * 16 +
                        reinterpret_cast<std::uintptr_t>(gpu->contexts.back()));
    return 0;
  };
  made.record = [](void* event, void* stream) {
    const std::uintptr_t context = reinterpret_cast<std::uintptr_t>(event) % 16;
    if (stream != nullptr && context != (stream == kStream ? 1u : 2u)) return 400;  // CUDA_ERROR_INVALID_HANDLE
    gpu->recorded[event] = gpu->now;
    return 0;
  };
  made.query = [](void* event) { return gpu->state_of(event); };
  made.elapsed = [](float* ms, void* begin, void* end) {
    if (const int state = gpu->state_of(end); state != 0) return state;
    *ms = gpu->recorded.at(end) - gpu->recorded.at(begin);
    return 0;
  };
  made.stream_query = [](void*) { return gpu->busy ? 600 : 0; };
  made.exchange_mode = [](int* mode) {
    std::swap(*mode, gpu->mode);
    return 0;
  };
  return made;
}

class GpuTimes : public testing::Test {
 protected:
  GpuTimes() {
    gpu = &its_;
    its_.contexts = {as_pointer(1)};
    recorder->reduction("");
    recorder->type("");
    recorder->phase("");
    recorder->how("");
    recorder->communicator({});
    of.function = recorder->function("ncclAllReduce");
  }
  void time(GpuTimer& timer, void* stream, float ms) {
    GpuTimer::Pair* const pair = timer.begin(stream);
    its_.now += ms;
    if (pair != nullptr) timer.end(*pair, stream, {of, 1});
  }
  /// Calls and ns that are known of the class.
  std::pair<std::uint64_t, std::uint64_t> told() const {
    std::pair<std::uint64_t, std::uint64_t> all;
    const profile::Rank rank = profile::read_rank(recorder->bytes(), "it").value();
    for (const profile::Sums& sums : rank.sums) {
      all.first += sums.device_calls;
      all.second += sums.device_ns;
    }
    return all;
  }

  Gpu its_;
  const std::unique_ptr<profile::Recorder> recorder =
      profile::Recorder::in_memory(sizeof(profile::Tables) + sizeof(profile::Block)).value();
  profile::Class of;
};

TEST_F(GpuTimes, AreReadWhenTheyHaveHappened) {
  GpuTimer timer(driver(), true);
  time(timer, kStream, 2);
  time(timer, kOtherStream, 3);  // of another context than the thread's
  EXPECT_EQ(its_.contexts.size(), 1u) << "the thread's context is its own again";
  timer.collect(*recorder);
  EXPECT_EQ(told().first, 0u) << "nothing has happened";
  its_.done = 2;
  timer.collect(*recorder);
  EXPECT_EQ(told(), std::pair(std::uint64_t{1}, std::uint64_t{2'000'000}));
  its_.done = 5;
  timer.collect(*recorder);
  EXPECT_EQ(told().first, 1u) << "the other is of another context than the thread's";
  timer.collect(*recorder, true);
  EXPECT_EQ(told(), std::pair(std::uint64_t{2}, std::uint64_t{5'000'000}));
  time(timer, nullptr, 1);
  EXPECT_EQ(its_.events, 4) << "pairs are used again";
  EXPECT_EQ(its_.queried_in_capture, 0);
  EXPECT_EQ(its_.mode, 0);
}

TEST_F(GpuTimes, TheTimeInWhichAnIdleStreamHasNoWorkYetIsTakenOff) {
  GpuTimer timer(driver(), true, [] { return static_cast<std::uint64_t>(gpu->now * 1e6f); });
  const auto time_last = [&](bool busy, float enqueuing_ms, float done_at_begin) {
    its_.busy = busy;
    its_.done = done_at_begin;
    GpuTimer::Pair* const pair = timer.begin(kStream);
    its_.now += enqueuing_ms;
    timer.end(*pair, kStream, {of, 1}, GpuTimer::Launch::last);
    its_.recorded[pair->end] = its_.now + 8;  // the kernel takes so long
    its_.now = its_.done = its_.now + 8;
    timer.collect(*recorder);
  };
  time_last(false, 2, 0);
  EXPECT_EQ(told(), std::pair(std::uint64_t{1}, std::uint64_t{8'000'000}));
  time_last(true, 0, its_.now - 1);  // what is before the call runs still when it returns
  EXPECT_EQ(told(), std::pair(std::uint64_t{2}, std::uint64_t{16'000'000}));
  time_last(true, 2, its_.now);  // the stream ran empty before the call had enqueued anything
  EXPECT_EQ(told().first, 2u) << "nobody knows how long it took";
}

TEST_F(GpuTimes, PairsAreFewAndThoseOfAGoneContextAreNotUsedAgain) {
  GpuTimer timer(driver(), true);
  for (std::size_t i = 0; i < GpuTimer::kPairs; ++i) time(timer, kStream, 1);
  EXPECT_EQ(timer.begin(kStream), nullptr);
  its_.gone = true;
  timer.collect(*recorder);
  EXPECT_EQ(told().first, 0u);
  EXPECT_EQ(timer.begin(kStream), nullptr);
}

TEST_F(GpuTimes, TheFirstOfAClassAreDueAndFewOfTheOthers) {
  GpuTimer timer(driver(), false);
  profile::Class other = of;
  other.bin = 9;
  std::uint64_t due = 0;
  const std::uint64_t calls = GpuTimer::kFirst + 10 * GpuTimer::kOneIn;
  for (std::uint64_t i = 0; i < calls; ++i) due += timer.is_due(of) ? 1 : 0;
  EXPECT_EQ(due, GpuTimer::kFirst + 10);
  EXPECT_TRUE(timer.is_due(other));
}

TEST_F(GpuTimes, ClassesBeyondTheLimitHaveNoTurns) {
  const auto timer = std::make_unique<GpuTimer>(driver(), false);
  std::size_t due = 0;
  for (std::size_t i = 0; i < 2 * GpuTimer::kClasses; ++i) {
    profile::Class one = of;
    one.communicator = static_cast<std::uint16_t>(i % 4096);
    one.phase = static_cast<std::uint8_t>(i / 4096);
    due += timer->is_due(one);
  }
  EXPECT_LE(due, GpuTimer::kClasses);
  EXPECT_GT(due, GpuTimer::kClasses / 2);
}

}  // namespace
}  // namespace sennit::shim::recorder
