#include "shim/recorder/kernel_times.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <limits>

#include <fmt/format.h>

#include "shim/recorder/gpu_driver.h"

namespace sennit::shim::recorder {

namespace {

constinit std::atomic<KernelTimes*> collecting{nullptr};

constexpr Activity kActivities[] = {Activity::external_correlation,
                                    Activity::driver,
                                    Activity::runtime,
                                    Activity::kernel,
                                    Activity::memcpy,
                                    Activity::memset,
                                    Activity::memcpy_peer};

/// Numbers of the calls that the thread is in, the innermost last.
thread_local std::vector<std::uint64_t> calls_of_thread;

Status refused(const char* what, int error) {
  if (error == kMultipleSubscribers)
    return Status(Code::unsupported, "another profiler uses CUPTI (torch.profiler, Nsight, a debugger)", {},
                  "Run one of the two at a time");
  if (error == kInsufficientPrivileges || error == kVirtualPrivileges)
    return Status(Code::permission_denied, "the driver lets administrators alone use CUPTI", {},
                  "Ask for NVreg_RestrictProfilingToAdminUsers=0");
  return Status(Code::device_error, fmt::format("CUPTI: {} fails with error {}", what, error), {},
                "Time calls by events: --gpu-times sampled");
}

/// Returns the time that intervals cover, which may overlap.
std::uint64_t length_of(std::vector<std::pair<std::uint64_t, std::uint64_t>> intervals) {
  std::ranges::sort(intervals);
  std::uint64_t length = 0, until = 0;
  for (const auto& [begin, end] : intervals) {
    if (end > until) length += end - std::max(begin, until);
    until = std::max(until, end);
  }
  return length;
}

}  // namespace

Result<std::unique_ptr<KernelTimes>> KernelTimes::begin(const Cupti& cupti) {
  std::unique_ptr<KernelTimes> made(new KernelTimes(cupti));
  if (const int error = cupti.subscribe(&made->subscriber_, reinterpret_cast<void*>(&resource_changed), made.get());
      error != 0) {
    made->subscriber_ = nullptr;
    return refused("cuptiSubscribe", error);
  }
  if (const int error = cupti.register_callbacks(&buffer_requested, &buffer_completed); error != 0)
    return refused("cuptiActivityRegisterCallbacks", error);
  collecting.store(made.get(), std::memory_order_release);
  for (const Activity kind : kActivities)
    if (const int error = cupti.enable(static_cast<int>(kind)); error != 0)
      return refused("cuptiActivityEnable", error);
  if (cupti.enable_callback != nullptr && cupti.graph_node_id != nullptr)  // else graphs' kernels are of nobody
    for (const std::uint32_t id : {kGraphNodeCreated, kGraphNodeCloned})
      (void)cupti.enable_callback(1, made->subscriber_, kResourceDomain, id);
  constexpr std::uint32_t kEvery = 1000;  // ms
  if (cupti.flush_period != nullptr) (void)cupti.flush_period(kEvery);
  (void)cupti.timestamp(&made->settled_at_);
  return made;
}

KernelTimes::~KernelTimes() {
  let_go();
}

void KernelTimes::let_go() {
  if (subscriber_ == nullptr) return;
  for (const Activity kind : kActivities) (void)cupti_.disable(static_cast<int>(kind));
  if (cupti_.flush_period != nullptr) (void)cupti_.flush_period(0);
  KernelTimes* self = this;
  collecting.compare_exchange_strong(self, nullptr);
  (void)cupti_.unsubscribe(std::exchange(subscriber_, nullptr));
}

std::uint64_t KernelTimes::begin_call() {
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    if (calls_.size() < kMost) calls_[number = ++last_call_].generation = generation_;
  }
  (void)cupti_.push(kCorrelationKind, number);
  calls_of_thread.push_back(number);
  return number;
}

void KernelTimes::end_call(std::uint64_t number, const Calls& calls) {
  std::uint64_t last = 0;
  (void)cupti_.pop(kCorrelationKind, &last);
  if (!calls_of_thread.empty()) calls_of_thread.pop_back();
  const std::lock_guard lock(mutex_);
  const auto call = calls_.find(number);
  if (call == calls_.end()) return;
  call->second.calls = calls;
  call->second.ended = true;
  call->second.generation = generation_;
  if (call->second.is_captured) captured_[number] = calls;
}

void KernelTimes::resource_changed(void*, int domain, std::uint32_t id, const void* data) {
  KernelTimes* const times = collecting.load(std::memory_order_acquire);
  if (times == nullptr || domain != kResourceDomain || OwnWork::is_there()) return;
  const auto* const graph = static_cast<const GraphData*>(static_cast<const ResourceData*>(data)->descriptor);
  if (graph == nullptr) return;
  if (id == kGraphNodeCreated) times->note_node(graph->node, nullptr);
  if (id == kGraphNodeCloned) times->note_node(graph->node, graph->original_node);
}

void KernelTimes::note_node(void* node, void* original) {
  std::uint64_t id = 0, from = 0;
  if (cupti_.graph_node_id(node, &id) != 0 || id == 0) return;
  if (original != nullptr && cupti_.graph_node_id(original, &from) != 0) return;
  const std::lock_guard lock(mutex_);
  if (nodes_.size() >= kMost) return;
  if (original != nullptr) {
    if (const auto known = nodes_.find(from); known != nodes_.end()) nodes_[id] = known->second;
    return;
  }
  const std::uint64_t number = calls_of_thread.empty() ? 0 : calls_of_thread.back();
  if (const auto call = calls_.find(number); call != calls_.end()) call->second.is_captured = true;
  nodes_[id] = number;
}

void KernelTimes::buffer_requested(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  constexpr std::size_t kBytes = std::size_t{1} << 20, kAlignment = 8;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kAlignment, kBytes));
  *bytes = *buffer != nullptr ? kBytes : 0;
  *most_records = 0;  // as many as there is room for
}

void KernelTimes::buffer_completed(void*, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  if (KernelTimes* const times = collecting.load(std::memory_order_acquire)) times->read(buffer, valid);
  std::free(buffer);
}

void KernelTimes::read(std::uint8_t* buffer, std::size_t valid) {
  const std::lock_guard lock(mutex_);
  for (void* record = nullptr; cupti_.next_record(buffer, valid, &record) == 0;) {
    switch (*static_cast<const Activity*>(record)) {
      case Activity::external_correlation: {
        const auto& one = *static_cast<const CorrelationRecord*>(record);
        if (one.external_kind == kCorrelationKind) numbers_[one.correlation] = {one.external_id, generation_};
        break;
      }
      case Activity::kernel: {
        const auto& one = *static_cast<const KernelRecord*>(record);
        add(one.correlation, one.device, one.begin, one.end, one.graph_node);
        break;
      }
      case Activity::memcpy:
      case Activity::memset: {
        const auto& one = *static_cast<const CopyRecord*>(record);
        add(one.correlation, one.device, one.begin, one.end, one.graph_node);
        break;
      }
      case Activity::memcpy_peer: {
        const auto& one = *static_cast<const PeerCopyRecord*>(record);
        add(one.correlation, one.device, one.begin, one.end, one.graph_node);
        break;
      }
      default: break;
    }
  }
}

void KernelTimes::add(std::uint32_t correlation, std::uint32_t device, std::uint64_t begin, std::uint64_t end,
                      std::uint64_t graph_node) {
  if (begin == 0 || end < begin) {
    ++unfinished_;
    return;
  }
  if (begin >= closed_at_) return;
  for (auto pause = pauses_.rbegin(); pause != pauses_.rend() && begin < pause->second; ++pause)
    if (begin >= pause->first) return;
  ++kernels_;
  if (graph_node == 0) return newer_.push_back({correlation, device, begin, end});
  if (const auto node = nodes_.find(graph_node); node != nodes_.end())
    newer_.push_back({correlation, device, begin, end, true, node->second});
  else
    ++of_graphs_;
}

void KernelTimes::settle(profile::Recorder& recorder) {
  settle(recorder, false);
}

void KernelTimes::settle(profile::Recorder& recorder, bool last) {
  std::uint64_t now = 0;
  (void)cupti_.timestamp(&now);
  profile::Header& header = recorder.header();
  const std::lock_guard lock(mutex_);
  std::vector<Ran> ran = std::exchange(older_, std::exchange(newer_, {}));
  if (last)
    for (const Ran& one : std::exchange(older_, {})) ran.push_back(one);
  for (const Ran& one : ran) {
    const auto number = one.is_of_graph ? numbers_.end() : numbers_.find(one.correlation);
    const bool is_of_call = number != numbers_.end() || one.captured != 0;
    if (one.captured != 0) {
      Replay& replay = replays_[{one.captured, one.correlation}];
      if (replay.ran.empty()) replay.generation = generation_;
      replay.ran.emplace_back(one.begin, one.end);
    }
    if (const auto call = number != numbers_.end() ? calls_.find(number->second.call) : calls_.end();
        call != calls_.end())
      call->second.ran.emplace_back(one.begin, one.end);
    overlap_.add(one.device, is_of_call ? profile::Overlap::Kind::communication : profile::Overlap::Kind::computation,
                 one.begin, std::min(one.end, closed_at_));
  }
  overlap_.fold(last ? std::numeric_limits<std::uint64_t>::max() : settled_at_);
  settled_at_ = now;
  // A call's kernels have all come some generations after the call: GPUs may be behind for a while.
  std::erase_if(calls_, [&](const auto& entry) {
    const Call& call = entry.second;
    const std::uint64_t wait = call.ran.empty() ? kPatience : kSettled;
    if (!call.ended || (!last && call.generation + wait > generation_)) return false;
    if (!call.ran.empty())
      recorder.add_device_time(recorder.thread(), call.calls.of, call.calls.calls, length_of(call.ran));
    return true;
  });
  std::erase_if(replays_, [&](const auto& entry) {
    if (!last && entry.second.generation + kSettled > generation_) return false;
    if (const auto calls = captured_.find(entry.first.first); calls != captured_.end())
      recorder.add_device_time(recorder.thread(), calls->second.of, calls->second.calls, length_of(entry.second.ran));
    return true;
  });
  std::erase_if(numbers_, [&](const auto& entry) { return entry.second.generation + kPatience < generation_; });
  ++generation_;
  const profile::Overlap::Totals& totals = overlap_.totals();
  header.kernels.store(kernels_, std::memory_order_relaxed);
  header.kernels_of_graphs.store(of_graphs_, std::memory_order_relaxed);
  header.kernels_lost.store(unfinished_, std::memory_order_relaxed);
  header.gpu_communication_ns.store(totals.communication, std::memory_order_relaxed);
  header.gpu_computation_ns.store(totals.computation, std::memory_order_relaxed);
  header.gpu_both_ns.store(totals.both, std::memory_order_relaxed);
}

void KernelTimes::pause(bool paused) {
  std::uint64_t now = 0;
  if (cupti_.timestamp(&now) != 0) return;
  const std::lock_guard lock(mutex_);
  constexpr std::uint64_t kOpen = std::numeric_limits<std::uint64_t>::max();
  const bool is_paused = !pauses_.empty() && pauses_.back().second == kOpen;
  if (paused && !is_paused) pauses_.emplace_back(now, kOpen);
  if (!paused && is_paused) pauses_.back().second = now;
}

void KernelTimes::close() {
  std::uint64_t now = 0;
  if (cupti_.timestamp(&now) != 0) return;
  const std::lock_guard lock(mutex_);
  closed_at_ = now;
}

void KernelTimes::finish(profile::Recorder& recorder) {
  (void)cupti_.flush_all(kFlushForced);
  settle(recorder, true);
  let_go();
}

}  // namespace sennit::shim::recorder
