#include <chrono>

#include "bench/collective/stream.h"
#include "device/cuda/check.h"

namespace sennit::bench::collective {

namespace {

using device::check;

class CudaStream final : public Stream {
 public:
  explicit CudaStream(int device) : device_(device) {}
  ~CudaStream() override {
    const device::CurrentDevice current(device_);
    drop_graph();
    lane_.reset();
    for (cudaEvent_t event : events_)
      if (event != nullptr) (void)cudaEventDestroy(event);
    if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
  }

  Status open(device::Executor& executor) {
    const device::CurrentDevice current(device_);
    if (auto made = check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "create a stream"); !made)
      return made;
    for (cudaEvent_t& event : events_)
      if (auto made = check(cudaEventCreate(&event), "create an event"); !made) return made;
    auto lane = executor.adopt(device_, stream_);
    if (!lane) return lane.status();
    lane_ = std::move(*lane);
    return {};
  }

  device::Lane& lane() override { return *lane_; }
  void* handle() override { return stream_; }
  double host_us() const override { return host_us_; }

  Status prepare(const std::function<Status()>& call, int calls, bool graph) override {
    const device::CurrentDevice current(device_);
    drop_graph();
    call_ = call;
    calls_ = calls;
    host_us_ = 0;
    if (!graph) return {};
    if (auto begun = check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "begin a capture");
        !begun)
      return begun;
    Status status;
    for (int i = 0; i < calls && status.ok(); ++i) status = call();
    cudaGraph_t captured = nullptr;
    const auto ended = check(cudaStreamEndCapture(stream_, &captured), "end the capture");
    if (status.ok()) status = ended;
    if (status.ok()) status = check(cudaGraphInstantiate(&graph_, captured, 0), "instantiate the graph");
    if (status.ok()) status = check(cudaGraphUpload(graph_, stream_), "upload the graph");
    if (captured != nullptr) (void)cudaGraphDestroy(captured);
    return status.ok() ? lane_->synchronize() : status;
  }

  Result<double> run() override {
    const device::CurrentDevice current(device_);
    if (auto status = check(cudaEventRecord(events_[0], stream_), "record an event"); !status) return status;
    if (graph_ != nullptr) {
      if (auto status = check(cudaGraphLaunch(graph_, stream_), "launch the graph"); !status) return status;
    } else {
      const auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < calls_; ++i)
        if (auto status = call_(); !status) return status;
      host_us_ = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
    }
    if (auto status = check(cudaEventRecord(events_[1], stream_), "record an event"); !status) return status;
    if (auto status = lane_->synchronize(); !status) return status;
    float ms = 0;
    if (auto status = check(cudaEventElapsedTime(&ms, events_[0], events_[1]), "time between events"); !status)
      return status;
    return double(ms) * 1e3;
  }

 private:
  void drop_graph() {
    if (graph_ != nullptr) (void)cudaGraphExecDestroy(graph_);
    graph_ = nullptr;
  }

  const int device_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t events_[2] = {};
  cudaGraphExec_t graph_ = nullptr;
  std::unique_ptr<device::Lane> lane_;
  std::function<Status()> call_;
  int calls_ = 0;
  double host_us_ = 0;
};

}  // namespace

Result<std::unique_ptr<Stream>> open_cuda_stream(device::Executor& executor, int device) {
  auto stream = std::make_unique<CudaStream>(device);
  if (auto status = stream->open(executor); !status) return status;
  return std::unique_ptr<Stream>(std::move(stream));
}

}  // namespace sennit::bench::collective
