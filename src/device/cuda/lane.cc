#include "device/cuda/lane.h"

#include <cstring>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "device/cuda/check.h"
#include "device/fault.h"

namespace sennit::device {

namespace {

/// The graph that a stream's work is captured into, null where it is not, and the nodes that its next work would wait
/// for.
struct Captured {
  cudaGraph_t graph = nullptr;
  std::vector<cudaGraphNode_t> last;
};

Result<Captured> captured_by_now(cudaStream_t stream) {
  cudaStreamCaptureStatus state = cudaStreamCaptureStatusNone;
  cudaGraph_t graph = nullptr;
  const cudaGraphNode_t* nodes = nullptr;
  std::size_t count = 0;
  const cudaGraphEdgeData* edges = nullptr;
#if CUDART_VERSION >= 13000
  const auto error = cudaStreamGetCaptureInfo(stream, &state, nullptr, &graph, &nodes, &edges, &count);
#else
  const auto error = cudaStreamGetCaptureInfo_v3(stream, &state, nullptr, &graph, &nodes, &edges, &count);
#endif
  if (auto status = check(error, "look at a capture"); !status) return status;
  Captured captured;
  if (state == cudaStreamCaptureStatusActive) captured = {graph, {nodes, nodes + count}};
  return captured;
}

/// Adds or removes edges from each of `from` to `to`, of the ordinary kind: all of the one is over before the other
/// begins.
cudaError_t change_edges(decltype(&cudaGraphAddDependencies) change, cudaGraph_t graph,
                         const std::vector<cudaGraphNode_t>& from, cudaGraphNode_t to) {
  const std::vector<cudaGraphNode_t> each(from.size(), to);
#if CUDART_VERSION >= 13000
  return change(graph, from.data(), each.data(), nullptr, from.size());
#else
  return change(graph, from.data(), each.data(), from.size());
#endif
}

}  // namespace

CudaLimits::CudaLimits(std::span<const Kernel> launchable) : kernels(launchable) {
  const auto allowed = environment_switch("SENNIT_EARLY");
  early = !allowed.ok() || *allowed;
  // One page of pinned memory for both; portable, so that kernels of every device reach it.
  void* page = nullptr;
  if (cudaHostAlloc(&page, 4096, cudaHostAllocPortable | cudaHostAllocMapped) != cudaSuccess) {
    (void)cudaGetLastError();
    return;  // launches then run without abort; their waits are bounded all the same
  }
  std::memset(page, 0, 4096);
  abort = static_cast<Word*>(page);
  fault = reinterpret_cast<Fault*>(static_cast<std::byte*>(page) + 64);
}

CudaLimits::~CudaLimits() {
  if (abort != nullptr) (void)cudaFreeHost(abort);
}

Limits CudaLimits::next() {
  return {timeout_ns.load(), abort, fault, ++sequence};
}

unsigned most_early_threads(int device) {
  constexpr int kHopper = 9, kDriver = 12030;
  int driver = 0, major = 0, sms = 0;
  const bool known = cudaDriverGetVersion(&driver) == cudaSuccess &&
                     cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
                     cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device) == cudaSuccess;
  if (!known) (void)cudaGetLastError();
  return known && driver >= kDriver && major >= kHopper ? static_cast<unsigned>(sms) * kMostEarlyThreads : 0;
}

CudaEvent::~CudaEvent() {
  (void)cudaEventDestroy(event_);
}

Result<bool> CudaEvent::done() {
  const cudaError_t state = cudaEventQuery(event_);
  if (state == cudaErrorNotReady) {
    (void)cudaGetLastError();
    return false;
  }
  if (auto status = check(state, "query event"); !status) return status;
  return true;
}

Result<double> CudaEvent::since(Event& start) {
  float ms = 0;
  const auto error = cudaEventElapsedTime(&ms, static_cast<CudaEvent&>(start).event_, event_);
  if (auto status = check(error, "time between events"); !status) return status;
  return double(ms) * 1e3;
}

CudaGraph::~CudaGraph() {
  const CurrentDevice current(device_);
  (void)cudaGraphExecDestroy(graph_);
}

Status CudaGraph::launch() {
  const CurrentDevice current(device_);
  return check(cudaGraphLaunch(graph_, stream_), "launch the graph");
}

CudaLane::~CudaLane() {
  if (!owned_) return;
  const CurrentDevice current(device_);
  (void)cudaStreamDestroy(stream_);  // CUDA finishes what was enqueued first
}

Queue CudaLane::queue() {
  const auto on_device = [&](std::uint64_t number) { return (number << 8) + static_cast<unsigned>(device_); };
  const std::uint64_t capture = this->capture();
  if (stream_ == cudaStreamPerThread) {
    // The handle of this default stream is one for all threads, but the stream is another in each.
    static std::atomic<std::uint64_t> threads{0};
    thread_local const std::uint64_t thread = ++threads;
    constexpr std::uint64_t kNoHandle = std::uint64_t{1} << 63;
    return {capture, kNoHandle + on_device(thread), 0};
  }
  // Every device has a default stream of the same handle, which is never destroyed.
  const std::uint64_t stream = on_device(reinterpret_cast<std::uintptr_t>(stream_));
  if (capture != 0 || stream_ == nullptr || stream_ == cudaStreamLegacy) return {capture, stream, 0};
  unsigned long long id = 0;
  const auto get_id = Driver::get().stream_id;
  if (get_id != nullptr && get_id(stream_, &id) == CUDA_SUCCESS) return {0, stream, id + 1};
  // Streams that cannot be told apart are taken for different ones: a wait too many loses no order.
  static std::atomic<std::uint64_t> unknown{0};
  return {0, stream, (std::uint64_t{1} << 63) + ++unknown};
}

Status CudaLane::copy(void* dst, const void* src, std::uint64_t bytes) {
  if (bytes == 0) return {};
  const CurrentDevice current(device_);
  return check(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDefault, stream_), "copy");
}

Status CudaLane::post(Word* there, const Word* here) {
  // A copy begins when the one before it in its stream is complete; so does what its word says.
  return copy(there, here, sizeof(Word));
}

Status CudaLane::signal(Word* there, Word value) {
  const auto write = Driver::get().write_value;
  if (write == nullptr)
    return Status(Code::unsupported, "this driver's streams write no words", "cuStreamWriteValue32",
                  "Update the NVIDIA driver");
  const CurrentDevice current(device_);
  // The default write comes behind a fence for the whole system.
  return check(write(stream_, reinterpret_cast<CUdeviceptr>(there), value, CU_STREAM_WRITE_VALUE_DEFAULT), "signal");
}

Status CudaLane::launch(const Program& program, const void* arguments, unsigned blocks, unsigned threads) {
  const void* const kernel = kernel_of(program, limits_->kernels);
  if (kernel == nullptr)
    return Status(Code::unsupported, "this build has no GPU code for the program", program.name,
                  "Build or install sennit again");
  const CurrentDevice current(device_);
  Limits limits = limits_->next();
  void* parameters[] = {const_cast<void*>(arguments), &limits};
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.stream = stream_;
  config.attrs = &attribute;
  config.numAttrs = program.early && limits_->early && blocks * threads <= most_early_threads_ ? 1 : 0;
  return check(cudaLaunchKernelExC(&config, kernel, parameters), program.name);
}

Status CudaLane::record(Event& event) {
  const CurrentDevice current(device_);
  return check(cudaEventRecord(static_cast<CudaEvent&>(event).event_, stream_), "record event");
}

Status CudaLane::wait(Event& event) {
  const CurrentDevice current(device_);
  return check(cudaStreamWaitEvent(stream_, static_cast<CudaEvent&>(event).event_, 0), "wait for event");
}

Status CudaLane::synchronize() {
  const CurrentDevice current(device_);
  if (auto status = check(cudaStreamSynchronize(stream_), "wait for the lane"); !status) return status;
  return limits_->fault == nullptr ? Status() : describe(*limits_->fault);
}

Result<bool> CudaLane::idle() {
  // The legacy default stream also stands for every blocking stream; whether those are idle it does not tell.
  if (stream_ == nullptr || stream_ == cudaStreamLegacy) return false;
  const cudaError_t state = cudaStreamQuery(stream_);
  if (state == cudaErrorNotReady) {
    (void)cudaGetLastError();
    return false;
  }
  if (auto status = check(state, "query lane"); !status) return status;
  return true;
}

std::uint64_t CudaLane::capture() {
  cudaStreamCaptureStatus state = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  const CurrentDevice current(device_);
  const bool active =
      cudaStreamGetCaptureInfo(stream_, &state, &id) == cudaSuccess && state == cudaStreamCaptureStatusActive;
  return active ? id + 1 : 0;
}

Result<std::unique_ptr<Graph>> CudaLane::graph_of(const std::function<Status()>& work) {
  const CurrentDevice current(device_);
  if (auto begun = check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "begin a capture");
      !begun)
    return begun;
  Status status = work();
  cudaGraph_t captured = nullptr;
  const auto ended = check(cudaStreamEndCapture(stream_, &captured), "end the capture");
  if (status.ok()) status = ended;
  cudaGraphExec_t graph = nullptr;
  if (status.ok()) status = check(cudaGraphInstantiate(&graph, captured, 0), "instantiate the graph");
  if (captured != nullptr) (void)cudaGraphDestroy(captured);
  if (!status.ok()) return status;
  std::unique_ptr<Graph> made(new CudaGraph(device_, stream_, graph));
  if (status = check(cudaGraphUpload(graph, stream_), "upload the graph"); !status) return status;
  if (status = synchronize(); !status) return status;
  return made;
}

Status CudaLane::wait_in_replays(Event& event) {
  if (!capturing()) return not_captured();  // CUDA would wait at once, and not say so
  const CurrentDevice current(device_);
  return check(cudaStreamWaitEvent(stream_, static_cast<CudaEvent&>(event).event_, cudaEventWaitExternal),
               "wait for an event in replays");
}

Status CudaLane::record_in_replays(Event& event, ReplayRecord& at) {
  const CurrentDevice current(device_);
  const auto captured = captured_by_now(stream_);
  if (!captured) return captured.status();
  const auto& [graph, last] = *captured;
  if (graph == nullptr) return not_captured();
  if (at.node == nullptr) {
    cudaGraphNode_t node = nullptr;
    const auto error =
        cudaGraphAddEventRecordNode(&node, graph, last.data(), last.size(), static_cast<CudaEvent&>(event).event_);
    if (auto status = check(error, "record an event in replays"); !status) return status;
    at.node = node;
  } else {
    // The node is not removed and added again: no node of a graph that is being captured may be removed.
    auto* const node = static_cast<cudaGraphNode_t>(at.node);
    std::vector<cudaGraphNode_t> before;
    for (void* const each : at.behind) before.push_back(static_cast<cudaGraphNode_t>(each));
    if (before == last) return {};
    constexpr auto what = "move the record of an event in replays";
    const auto removed = change_edges(cudaGraphRemoveDependencies, graph, before, node);
    if (auto status = check(removed, what); !status) return status;
    at.behind.clear();
    const auto added = change_edges(cudaGraphAddDependencies, graph, last, node);
    if (auto status = check(added, what); !status) return status;
  }
  at.behind.assign(last.begin(), last.end());
  return {};
}

Status CudaLane::keep_in_replays(std::shared_ptr<void> what) {
  const CurrentDevice current(device_);
  const auto captured = captured_by_now(stream_);
  if (!captured) return captured.status();
  if (captured->graph == nullptr) return not_captured();
  using Kept = std::shared_ptr<void>;
  auto kept = std::make_unique<Kept>(std::move(what));
  const auto drop = [](void* held) { delete static_cast<Kept*>(held); };
  cudaUserObject_t object = nullptr;
  const auto error = cudaUserObjectCreate(&object, kept.get(), drop, 1, cudaUserObjectNoDestructorSync);
  if (auto status = check(error, "keep something with a graph"); !status) return status;
  (void)kept.release();  // the object's now
  const auto retained = cudaGraphRetainUserObject(captured->graph, object, 1, cudaGraphUserObjectMove);
  if (retained != cudaSuccess) (void)cudaUserObjectRelease(object, 1);
  return check(retained, "keep something with a graph");
}

}  // namespace sennit::device
