#include "shim/recorder/gpu_times.h"

#include <algorithm>

namespace sennit::shim::recorder {

namespace {

constexpr int kNotReady = 600;  // CUDA_ERROR_NOT_READY
constexpr std::uintptr_t kLastDefaultStream = 2;

}  // namespace

GpuTimer::Context& GpuTimer::context_of(void* context, unsigned long long id) {
  const auto known =
      std::ranges::find_if(contexts_, [&](const Context& one) { return one.handle == context && one.id == id; });
  if (known != contexts_.end()) return *known;
  Context& made = contexts_.emplace_back();
  made.handle = context;
  made.id = id;
  return made;
}

std::uint64_t GpuTimer::is_due(const profile::Class& of) {
  if (all_) return 1;
  constexpr std::size_t kLooks = 16;
  const std::uint64_t key = of.key();
  std::size_t at = (key * 0x9e3779b97f4a7c15u) >> 32;
  for (std::size_t look = 0; look < kLooks; ++look, ++at) {
    Turns& one = turns_[at % kClasses];
    std::uint64_t there = one.key.load(std::memory_order_relaxed);
    if (there == 0 && one.key.compare_exchange_strong(there, key, std::memory_order_relaxed)) there = key;
    if (there != key) continue;
    const std::uint64_t before = one.calls.fetch_add(1, std::memory_order_relaxed);
    return before < kFirst ? 1 : before % kOneIn == 0 ? kOneIn : 0;
  }
  return 0;
}

GpuTimer::Pair* GpuTimer::begin(void* stream) {
  const WithoutCapture quiet(driver_);
  void* handle = nullptr;
  const bool is_default = reinterpret_cast<std::uintptr_t>(stream) <= kLastDefaultStream;  // of the current context
  if ((is_default ? driver_.current(&handle) : driver_.context_of(stream, &handle)) != 0 || handle == nullptr)
    return nullptr;
  const unsigned long long id = driver_.id_of(handle);
  Pair* pair = nullptr;
  {
    const std::lock_guard lock(mutex_);
    Context& context = context_of(handle, id);
    if (!context.free.empty()) {
      pair = context.free.back();
      context.free.pop_back();
    } else if (context.all.size() < kPairs) {
      pair = &context.all.emplace_back();
      pair->of = &context;
    }
  }
  if (pair == nullptr) return nullptr;
  const InContext inside(driver_, handle);
  const bool is_made =
      pair->end != nullptr || (driver_.create(&pair->begin, 0) == 0 && driver_.create(&pair->end, 0) == 0);
  pair->was_idle = driver_.stream_query(stream) == 0;
  pair->is_unsure = false;
  pair->before_ns = 0;
  if (is_made && driver_.record(pair->begin, stream) == 0) {
    pair->began_ns = now_ns_();
    return pair;
  }
  if (is_made) drop(*pair);
  return nullptr;
}

void GpuTimer::end(Pair& pair, void* stream, const Calls& calls, Launch launch) {
  if (launch == Launch::last && pair.was_idle) pair.before_ns = now_ns_() - pair.began_ns;
  {
    const WithoutCapture quiet(driver_);
    const InContext inside(driver_, pair.of->handle);
    pair.is_unsure = launch == Launch::last && !pair.was_idle && driver_.query(pair.begin) == 0;
    if (driver_.record(pair.end, stream) != 0) return drop(pair);
  }
  const std::lock_guard lock(mutex_);
  pair.calls = calls;
  pair.of->pending.push_back(&pair);
}

void GpuTimer::drop(Pair& pair) {
  const std::lock_guard lock(mutex_);
  pair.of->free.push_back(&pair);
}

void GpuTimer::collect(profile::Recorder& recorder, bool of_all) {
  std::vector<Context*> contexts;
  void* current = nullptr;
  if (!of_all && driver_.current(&current) != 0) return;
  {
    const std::lock_guard lock(mutex_);
    for (Context& one : contexts_)
      if (!one.pending.empty() && (of_all || one.handle == current)) contexts.push_back(&one);
  }
  for (Context* const one : contexts) collect(recorder, *one);
}

void GpuTimer::collect(profile::Recorder& recorder, Context& context) {
  std::deque<Pair*> pending;  // no other thread looks at these meanwhile
  {
    const std::lock_guard lock(mutex_);
    pending.swap(context.pending);
  }
  if (driver_.id_of(context.handle) != context.id) return;  // its events went with it
  std::vector<Pair*> free;
  std::deque<Pair*> waiting;
  {
    const WithoutCapture quiet(driver_);
    const InContext inside(driver_, context.handle);
    constexpr std::size_t kFew = 4;  // that have not happened: of streams that are behind
    for (Pair* const pair : pending) {
      float milliseconds = 0;
      const int state = waiting.size() < kFew ? driver_.elapsed(&milliseconds, pair->begin, pair->end) : kNotReady;
      if (state == kNotReady) {
        waiting.push_back(pair);
      } else if (state == 0) {  // else its context has gone, and it is never used again
        if (!pair->is_unsure && milliseconds >= 0) {
          const auto ns = static_cast<std::uint64_t>(static_cast<double>(milliseconds) * 1e6);
          // The kernel may have ended before the call has: it took some time, whatever the clocks say.
          const std::uint64_t own = ns > pair->before_ns ? ns - pair->before_ns : std::min<std::uint64_t>(ns, 1);
          recorder.add_device_time(recorder.thread(), pair->calls.of, pair->calls.calls * pair->calls.each,
                                   own * pair->calls.each);
        }
        free.push_back(pair);
      }
    }
  }
  const std::lock_guard lock(mutex_);
  context.pending.insert(context.pending.begin(), waiting.begin(), waiting.end());
  context.free.insert(context.free.end(), free.begin(), free.end());
}

}  // namespace sennit::shim::recorder
