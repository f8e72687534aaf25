#include "shim/recorder/graph_replays.h"

#include <array>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "named_recorder.h"
#include "profile/rank.h"

namespace sennit::shim::recorder {
namespace {

/// A driver of one context, whose kernels do what the one of GraphReplays does. The stream's number says what
/// captures it: 0 nothing.
struct Graphs {
  std::map<std::uintptr_t, std::vector<std::uint64_t*>> words;  // by graph, of its nodes
  int mode = 0, loads = 0, at_once = 0;
  bool lacks_kernels = false;

  void replay(std::uintptr_t graph, int times) {
    for (std::uint64_t* const word : words[graph]) *word += static_cast<std::uint64_t>(times);
  }
};
Graphs* graphs = nullptr;

void* capturing(std::uintptr_t graph) {
  return reinterpret_cast<void*>(graph);
}
bool note(GraphReplays& replays, const GpuDriver& driver, void* stream, const profile::Class& of,
          std::uint64_t bytes) {
  return replays.note(capture_of(driver, stream), stream, of, bytes);
}

GpuDriver graph_driver() {
  GpuDriver made;
  made.current = [](void** context) {
    *context = graphs;
    return 0;
  };
  made.context_of = [](void*, void** context) {
    *context = graphs;
    return 0;
  };
  made.push = [](void*) { return 0; };
  made.pop = [](void**) { return 0; };
  made.exchange_mode = [](int* mode) {
    std::swap(*mode, graphs->mode);
    return 0;
  };
  made.graphs.capture_info = [](void* of, int* status, unsigned long long* id, void** graph, const void*,
                                std::size_t*) {
    *status = of != nullptr ? 1 : 0;
    *id = reinterpret_cast<std::uintptr_t>(of);
    *graph = of;
    return 0;
  };
  made.graphs.load = [](void** module, const void*) {
    graphs->at_once += graphs->mode != 2 ? 1 : 0;
    ++graphs->loads;
    *module = graphs;
    return graphs->lacks_kernels ? 222 : 0;  // CUDA_ERROR_UNSUPPORTED_PTX_VERSION
  };
  made.graphs.function = [](void** function, void* module, const char*) {
    *function = module;
    return 0;
  };
  made.graphs.register_memory = [](void*, std::size_t, unsigned) { return 0; };
  made.graphs.device_pointer = [](unsigned long long* device, void* host, unsigned) {
    *device = reinterpret_cast<std::uintptr_t>(host);
    return 0;
  };
  made.graphs.add_kernel = [](void** node, void* graph, const void*, std::size_t count, const KernelNode* kernel) {
    EXPECT_EQ(count, 0u) << "it waits for nothing";
    *node = graph;
    const auto word = *static_cast<unsigned long long*>(kernel->parameters[0]);
    graphs->words[reinterpret_cast<std::uintptr_t>(graph)].push_back(reinterpret_cast<std::uint64_t*>(word));
    return 0;
  };
  return made;
}

class GraphReplaysTest : public testing::Test {
 protected:
  GraphReplaysTest() : recorder_(named_recorder()) { graphs = &its_; }
  static profile::Class of(std::uint8_t bin) { return {.function = 0, .bin = bin}; }
  /// Calls and bytes that graphs have done, by bin.
  std::map<int, std::pair<std::uint64_t, std::uint64_t>> told() const {
    std::map<int, std::pair<std::uint64_t, std::uint64_t>> all;
    const profile::Rank rank = profile::read_rank(recorder_->bytes(), "it").value();
    for (const profile::Sums& sums : rank.sums) all[sums.of.bin] = {sums.replayed, sums.replayed_bytes};
    return all;
  }

  Graphs its_;
  std::unique_ptr<profile::Recorder> recorder_;
};

using Told = std::map<int, std::pair<std::uint64_t, std::uint64_t>>;

TEST_F(GraphReplaysTest, EachGraphHasOneNodeWhichCountsItsCalls) {
  GraphReplays replays(graph_driver());
  EXPECT_FALSE(note(replays, graph_driver(), nullptr, of(4), 8));
  EXPECT_EQ(its_.loads, 1) << "the kernel is loaded before a graph is captured";
  EXPECT_TRUE(note(replays, graph_driver(), capturing(1), of(4), 8));
  EXPECT_TRUE(note(replays, graph_driver(), capturing(1), of(4), 6));
  EXPECT_TRUE(note(replays, graph_driver(), capturing(1), of(9), 200));
  EXPECT_TRUE(note(replays, graph_driver(), capturing(2), of(9), 250));
  EXPECT_EQ(its_.words[1].size(), 1u);
  EXPECT_EQ(its_.words[2].size(), 1u);
  EXPECT_EQ(its_.loads, 1);
  replays.collect(*recorder_);
  EXPECT_EQ(told(), Told());
  its_.replay(1, 3);
  replays.collect(*recorder_);
  EXPECT_EQ(told(), (Told{{4, {6, 42}}, {9, {3, 600}}}));
  its_.replay(1, 1);
  its_.replay(2, 10);
  replays.collect(*recorder_);
  replays.collect(*recorder_);
  EXPECT_EQ(told(), (Told{{4, {8, 56}}, {9, {14, 3300}}}));
  EXPECT_EQ(its_.mode, 0);
  EXPECT_EQ(its_.at_once, 0) << "nothing breaks a capture that is under way";
}

TEST_F(GraphReplaysTest, WhereNoKernelCanBeLoadedCapturedCallsAreStillToldApart) {
  its_.lacks_kernels = true;
  GraphReplays replays(graph_driver());
  EXPECT_TRUE(note(replays, graph_driver(), capturing(1), of(4), 8));
  EXPECT_TRUE(its_.words.empty());
  replays.collect(*recorder_);
  EXPECT_EQ(told(), Told());
}

TEST_F(GraphReplaysTest, GraphsBeyondTheLimitAreNotCounted) {
  GraphReplays replays(graph_driver());
  for (std::uintptr_t i = 1; i <= GraphReplays::kGraphs + 5; ++i)
    EXPECT_TRUE(note(replays, graph_driver(), capturing(i), of(4), 8));
  EXPECT_EQ(its_.words.size(), GraphReplays::kGraphs);
}

}  // namespace
}  // namespace sennit::shim::recorder
