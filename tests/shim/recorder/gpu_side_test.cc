#include "shim/recorder/gpu_side.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "named_recorder.h"
#include "profile/rank.h"

namespace sennit::shim::recorder {
namespace {

/// A driver whose events happen at once, which counts its calls. The stream's number says what captures it: 0
/// nothing, 1 a graph, 2 one that is broken, 3 it does not say.
struct Driver {
  int calls = 0, records = 0, events = 0;
};
Driver* its = nullptr;

void* stream(std::uintptr_t state) {
  return reinterpret_cast<void*>(state);
}
int call() {
  ++its->calls;
  return 0;
}
int give(void** place) {
  *place = its;
  return call();
}
int capture_state(void* of, int* status) {
  const auto state = reinterpret_cast<std::uintptr_t>(of);
  *status = state == 3 ? 0 : static_cast<int>(state);
  return call() + (state == 3 ? 906 : 0);  // CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
}

GpuDriver counting_driver(bool knows_graphs) {
  GpuDriver made;
  made.current = give;
  made.context_of = [](void*, void** context) { return give(context); };
  made.push = [](void*) { return call(); };
  made.pop = give;
  made.create = [](void** event, unsigned) {
    *event = stream(static_cast<std::uintptr_t>(++its->events));
    return call();
  };
  made.record = [](void*, void*) {
    ++its->records;
    return call();
  };
  made.query = [](void*) { return call(); };
  made.elapsed = [](float* ms, void*, void*) {
    *ms = 1;
    return call();
  };
  made.stream_query = [](void*) { return call(); };
  made.capturing = capture_state;
  made.exchange_mode = [](int*) { return call(); };
  if (!knows_graphs) return made;
  made.graphs.capture_info = [](void* of, int* status, unsigned long long* id, void** graph, const void*,
                                std::size_t*) {
    *id = 7;
    *graph = its;
    return capture_state(of, status);
  };
  made.graphs.load = [](void** module, const void*) { return give(module); };
  made.graphs.function = [](void** function, void*, const char*) { return give(function); };
  made.graphs.register_memory = [](void*, std::size_t, unsigned) { return call(); };
  made.graphs.device_pointer = [](unsigned long long* device, void*, unsigned) {
    *device = 0x1000;
    return call();
  };
  made.graphs.add_kernel = [](void** node, void*, const void*, std::size_t, const KernelNode*) { return give(node); };
  return made;
}

class GpuSideTest : public testing::TestWithParam<bool> {
 protected:
  GpuSideTest() { its = &driver_; }
  /// A call of NCCL, and how many calls of the driver it has made.
  int made(void* on, bool may_time = true) {
    const int before = driver_.calls;
    const GpuSide::Call one = side_->begin(*recorder_, on, {of_}, may_time);
    side_->end_timing(one, GpuTimer::Launch::last, true);
    side_->note(*recorder_, recorder_->thread(), one, of_, 8);
    return driver_.calls - before;
  }
  profile::Sums sums() const {
    const profile::Rank rank = profile::read_rank(recorder_->bytes(), "it").value();
    return rank.sums.empty() ? profile::Sums() : rank.sums.front();
  }

  Driver driver_;
  const std::unique_ptr<profile::Recorder> recorder_ = named_recorder();
  const std::unique_ptr<GpuSide> side_ = std::make_unique<GpuSide>(counting_driver(GetParam()), false);
  const profile::Class of_{.function = 0, .bin = 4};
};

TEST_P(GpuSideTest, ACallThatIsNotTimedAsksTheDriverOnce) {
  for (std::uint64_t i = 0; i < GpuTimer::kFirst; ++i) made(stream(0));
  EXPECT_EQ(driver_.records, 2 * static_cast<int>(GpuTimer::kFirst));
  constexpr int kRounds = 40;
  int most = 0, timed = 0;
  for (std::uint64_t i = 0; i < kRounds * GpuTimer::kOneIn; ++i) {
    const int records = driver_.records, calls = made(stream(0));
    if (driver_.records != records)
      ++timed;
    else
      most = std::max(most, calls);
  }
  EXPECT_EQ(most, 1);
  EXPECT_EQ(timed, kRounds);
  EXPECT_EQ(made(stream(0), false), 1) << "in a group";
}

TEST_P(GpuSideTest, MostTimedCallsDoNotLookWhatHasHappened) {
  made(stream(0));
  std::vector<int> calls;
  for (unsigned i = 1; i < GpuTimer::kFirst; ++i) calls.push_back(made(stream(0)));
  std::ranges::sort(calls);
  constexpr int kMost = 11;  // of which two record events
  EXPECT_LE(calls[calls.size() / 2], kMost);
  side_->finish(*recorder_);
  EXPECT_EQ(sums().device_calls, GpuTimer::kFirst);
}

TEST_P(GpuSideTest, NothingIsTimedOnAStreamThatIsCaptured) {
  for (const std::uintptr_t state : {1, 2, 3}) made(stream(state));
  EXPECT_EQ(driver_.events, 0);
  made(stream(0));
  EXPECT_EQ(driver_.records, 2) << "and it took nobody's turn";
  side_->finish(*recorder_);
  EXPECT_EQ(sums().device_calls, 1u);
  EXPECT_EQ(sums().captured, GetParam() ? 1u : 0u);
}

TEST_P(GpuSideTest, ACallThatIsPutThereLaterIsNotTimed) {
  const GpuSide::Call one = side_->begin(*recorder_, stream(0), {of_}, true);
  ASSERT_NE(one.pair, nullptr);
  side_->end_timing(one, GpuTimer::Launch::last, false);
  side_->finish(*recorder_);
  EXPECT_EQ(sums().device_calls, 0u);
}

INSTANTIATE_TEST_SUITE_P(WithGraphsAndWithout, GpuSideTest, testing::Bool());

}  // namespace
}  // namespace sennit::shim::recorder
