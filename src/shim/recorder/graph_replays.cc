#include "shim/recorder/graph_replays.h"

#include <sys/mman.h>

#include <algorithm>

namespace sennit::shim::recorder {

namespace {

constexpr unsigned kPortable = 0x01, kDeviceMap = 0x02;  // CU_MEMHOSTREGISTER_

// It adds one to a word. The driver compiles it.
constexpr const char* kProgram = R"(
.version 7.0
.target sm_60
.address_size 64
.visible .entry sennit_count(.param .u64 word) {
  .reg .u64 %at;
  ld.param.u64 %at, [word];
  red.sys.global.add.u64 [%at], 1;
  ret;
}
)";

}  // namespace

GraphReplays::Counter GraphReplays::made_for(void* context, unsigned long long id) const {
  Counter made{.context = context, .id = id};
  constexpr std::size_t kBytes = kGraphs * sizeof(std::uint64_t);
  void* const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return made;
  const WithoutCapture quiet(driver_);
  const InContext inside(driver_, context);
  void *module = nullptr, *function = nullptr;
  if (driver_.graphs.register_memory(memory, kBytes, kPortable | kDeviceMap) != 0) {
    munmap(memory, kBytes);
  } else if (driver_.graphs.device_pointer(&made.device_words, memory, 0) == 0 &&
             driver_.graphs.load(&module, kProgram) == 0 &&
             driver_.graphs.function(&function, module, "sennit_count") == 0) {
    made.words = static_cast<std::uint64_t*>(memory);
    made.function = function;
  }
  return made;
}

GraphReplays::Counter& GraphReplays::counter_of(void* context) {
  const unsigned long long id = driver_.id_of(context);
  const auto find = [&] {
    return std::ranges::find_if(counters_,
                                [&](const Counter& one) { return one.context == context && one.id == id; });
  };
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = find(); known != counters_.end()) return *known;
  }
  const Counter made = made_for(context, id);
  const std::lock_guard lock(mutex_);
  if (const auto known = find(); known != counters_.end()) return *known;  // another thread was faster
  return counters_.emplace_back(made);
}

const std::uint64_t* GraphReplays::count(void* stream, void* graph) {
  void* context = nullptr;
  if ((driver_.context_of(stream, &context) != 0 && driver_.current(&context) != 0) || context == nullptr)
    return nullptr;
  Counter& counter = counter_of(context);
  std::size_t at = 0;
  {
    const std::lock_guard lock(mutex_);
    if (counter.function == nullptr || counter.used == kGraphs) return nullptr;
    at = counter.used++;
  }
  unsigned long long word = counter.device_words + at * sizeof(std::uint64_t);
  void *parameters[] = {&word}, *node = nullptr;
  KernelNode kernel;
  kernel.function = counter.function;
  kernel.parameters = parameters;
  const WithoutCapture quiet(driver_);
  const InContext inside(driver_, context);
  const OwnWork own;
  return driver_.graphs.add_kernel(&node, graph, nullptr, 0, &kernel) == 0 ? &counter.words[at] : nullptr;
}

void GraphReplays::prepare(void* stream) {
  const auto handle = reinterpret_cast<std::uintptr_t>(stream);
  std::atomic<std::uintptr_t>& place = prepared_[(handle * 0x9e3779b97f4a7c15u) >> 58];
  if (place.load(std::memory_order_relaxed) == handle + 1) return;
  void* context = nullptr;
  if (driver_.current(&context) == 0 && context != nullptr) (void)counter_of(context);
  place.store(handle + 1, std::memory_order_relaxed);
}

bool GraphReplays::note(const Capture& capture, void* stream, const profile::Class& of, std::uint64_t bytes) {
  if (driver_.graphs.capture_info == nullptr || capture.state == Capture::State::unknown) return false;
  if (capture.state != Capture::State::active) {
    prepare(stream);
    return false;
  }
  const auto add = [&](Graph& to) {
    const auto same = std::ranges::find_if(to.calls, [&](const Captured& one) { return one.of.key() == of.key(); });
    if (same == to.calls.end())
      to.calls.push_back({of, 1, bytes});
    else
      ++same->calls, same->bytes += bytes;
  };
  const auto find = [&] { return std::ranges::find(graphs_, capture.id, &Graph::capture); };
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = find(); known != graphs_.end()) {
      add(*known);
      return true;
    }
  }
  const std::uint64_t* const word = count(stream, capture.graph);
  const std::lock_guard lock(mutex_);
  const auto known = find();
  add(known != graphs_.end() ? *known : graphs_.emplace_back(Graph{capture.id, word, 0, {}}));
  return true;
}

void GraphReplays::collect(profile::Recorder& recorder) {
  const std::lock_guard lock(mutex_);
  for (Graph& graph : graphs_) {
    if (graph.word == nullptr) continue;
    const std::uint64_t replays = __atomic_load_n(graph.word, __ATOMIC_RELAXED);  // a GPU writes it
    if (replays == graph.told) continue;
    for (const Captured& one : graph.calls)
      recorder.add_replays(recorder.thread(), one.of, one.calls * (replays - graph.told),
                           one.bytes * (replays - graph.told));
    graph.told = replays;
  }
}

}  // namespace sennit::shim::recorder
