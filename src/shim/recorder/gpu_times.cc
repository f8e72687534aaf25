#include "shim/recorder/gpu_times.h"

#include <dlfcn.h>

#include <algorithm>

namespace sennit::shim::recorder {

namespace {

constexpr int kNotReady = 600;  // CUDA_ERROR_NOT_READY
constexpr int kRelaxed = 2;     // CU_STREAM_CAPTURE_MODE_RELAXED
constexpr std::uintptr_t kLastDefaultStream = 2;

template <class Function>
bool find_in(void* library, Function*& function, const char* name) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

/// While it lives, this thread's calls break no capture that is under way, on whatever stream: events that are
/// queried would.
class WithoutCapture {
 public:
  explicit WithoutCapture(const GpuDriver& driver) : driver_(driver) {
    changed_ = driver_.exchange_mode(&mode_) == 0;
  }
  ~WithoutCapture() {
    if (changed_) (void)driver_.exchange_mode(&mode_);
  }
  WithoutCapture(const WithoutCapture&) = delete;
  WithoutCapture& operator=(const WithoutCapture&) = delete;

 private:
  const GpuDriver& driver_;
  int mode_ = kRelaxed;
  bool changed_;
};

/// While it lives, the context is the thread's.
class InContext {
 public:
  InContext(const GpuDriver& driver, void* context) : driver_(driver) {
    void* current = nullptr;
    pushed_ = driver.current(&current) == 0 && current != context && driver.push(context) == 0;
  }
  ~InContext() {
    void* context = nullptr;
    if (pushed_) (void)driver_.pop(&context);
  }
  InContext(const InContext&) = delete;
  InContext& operator=(const InContext&) = delete;

 private:
  const GpuDriver& driver_;
  bool pushed_;
};

}  // namespace

std::optional<GpuDriver> GpuDriver::of_process() {
  void* const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return std::nullopt;
  GpuDriver driver;
  const bool whole =
      find_in(library, driver.current, "cuCtxGetCurrent") && find_in(library, driver.context_of, "cuStreamGetCtx") &&
      find_in(library, driver.push, "cuCtxPushCurrent_v2") && find_in(library, driver.pop, "cuCtxPopCurrent_v2") &&
      find_in(library, driver.create, "cuEventCreate") && find_in(library, driver.record, "cuEventRecord") &&
      find_in(library, driver.query, "cuEventQuery") && find_in(library, driver.elapsed, "cuEventElapsedTime") &&
      find_in(library, driver.capturing, "cuStreamIsCapturing") &&
      find_in(library, driver.exchange_mode, "cuThreadExchangeStreamCaptureMode");
  return whole ? std::optional(driver) : std::nullopt;
}

GpuTimer::Context& GpuTimer::context_of(void* context) {
  const auto known = std::ranges::find(contexts_, context, &Context::handle);
  if (known != contexts_.end()) return *known;
  contexts_.emplace_back().handle = context;
  return contexts_.back();
}

bool GpuTimer::is_due(const profile::Class& of) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t before = seen_[of.key()]++;
  return all_ || before < kFirst || before % kOneIn == 0;
}

GpuTimer::Pair* GpuTimer::begin(void* stream) {
  const std::lock_guard lock(mutex_);
  const WithoutCapture quiet(driver_);
  int captured = 0;
  if (driver_.capturing(stream, &captured) != 0 || captured != 0) return nullptr;
  void* handle = nullptr;
  const bool is_default = reinterpret_cast<std::uintptr_t>(stream) <= kLastDefaultStream;  // of the current context
  if ((is_default ? driver_.current(&handle) : driver_.context_of(stream, &handle)) != 0 || handle == nullptr)
    return nullptr;
  Context& context = context_of(handle);
  const InContext inside(driver_, handle);
  if (context.free.empty()) {
    if (context.all.size() == kPairs) return nullptr;
    Pair made;
    made.of = &context;
    if (driver_.create(&made.begin, 0) != 0 || driver_.create(&made.end, 0) != 0) return nullptr;
    context.free.push_back(&context.all.emplace_back(made));
  }
  Pair* const pair = context.free.back();
  if (driver_.record(pair->begin, stream) != 0) return nullptr;
  context.free.pop_back();
  return pair;
}

void GpuTimer::end(Pair& pair, void* stream, const Calls& calls) {
  const std::lock_guard lock(mutex_);
  const WithoutCapture quiet(driver_);
  const InContext inside(driver_, pair.of->handle);
  pair.calls = calls;
  if (driver_.record(pair.end, stream) == 0)
    pending_.push_back(&pair);
  else
    pair.of->free.push_back(&pair);
}

void GpuTimer::drop(Pair& pair) {
  const std::lock_guard lock(mutex_);
  pair.of->free.push_back(&pair);
}

void GpuTimer::collect(profile::Recorder& recorder) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || pending_.empty()) return;
  const WithoutCapture quiet(driver_);
  constexpr int kFew = 4;  // that have not happened: of streams that are behind
  int waiting = 0;
  for (auto at = pending_.begin(); at != pending_.end() && waiting < kFew;) {
    Pair& pair = **at;
    const InContext inside(driver_, pair.of->handle);
    const int state = driver_.query(pair.end);
    if (state == kNotReady) {
      ++waiting;
      ++at;
      continue;
    }
    float milliseconds = 0;
    // One whose context has gone is never used again.
    if (state == 0) {
      if (driver_.elapsed(&milliseconds, pair.begin, pair.end) == 0 && milliseconds >= 0)
        recorder.add_device_time(recorder.thread(), pair.calls.of, pair.calls.calls,
                                 static_cast<std::uint64_t>(static_cast<double>(milliseconds) * 1e6));
      pair.of->free.push_back(&pair);
    }
    at = pending_.erase(at);
  }
}

}  // namespace sennit::shim::recorder
