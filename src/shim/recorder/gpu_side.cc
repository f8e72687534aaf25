#include "shim/recorder/gpu_side.h"

namespace sennit::shim::recorder {

GpuSide::Call GpuSide::begin(profile::Recorder& recorder, void* stream, const GpuTimer::Calls& calls, bool may_time) {
  Call call{.stream = stream, .capture = capture_of(driver_, stream), .calls = calls, .pair = nullptr};
  if (!may_time || call.capture.state != Capture::State::none) return call;
  call.calls.each = timer_.is_due(calls.of);
  if (call.calls.each == 0) return call;
  const unsigned before = timed_.fetch_add(1, std::memory_order_relaxed);
  if (before % kLook == 0) timer_.collect(recorder, before % kLookAtAll == 0);
  call.pair = timer_.begin(stream);
  return call;
}

void GpuSide::end_timing(const Call& call, GpuTimer::Launch launch, bool is_enqueued) {
  if (call.pair == nullptr) return;
  if (is_enqueued)
    timer_.end(*call.pair, call.stream, call.calls, launch);
  else
    timer_.drop(*call.pair);
}

void GpuSide::note(profile::Recorder& recorder, profile::Recorder::Thread& thread, const Call& call,
                   const profile::Class& of, std::uint64_t bytes) {
  if (replays_.note(call.capture, call.stream, of, bytes)) recorder.add_captured(thread, of);
  if (noted_.fetch_add(1, std::memory_order_relaxed) % kTellReplays == 0) replays_.collect(recorder);
}

void GpuSide::finish(profile::Recorder& recorder) {
  timer_.collect(recorder, true);
  replays_.collect(recorder);
}

}  // namespace sennit::shim::recorder
