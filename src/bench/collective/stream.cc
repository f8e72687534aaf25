#include "bench/collective/stream.h"

#include <chrono>

namespace sennit::bench::collective {

namespace {

class HostStream final : public Stream {
 public:
  explicit HostStream(std::unique_ptr<device::Lane> lane) : lane_(std::move(lane)) {}
  device::Lane& lane() override { return *lane_; }
  void* handle() override { return nullptr; }
  Status prepare(const std::function<Status()>& call, int calls, bool) override {
    call_ = call;
    calls_ = calls;
    return {};
  }
  Result<double> run() override {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < calls_; ++i)
      if (auto status = call_(); !status) return status;
    host_us_ = since(begin);
    if (auto status = lane_->synchronize(); !status) return status;
    return since(begin);
  }
  double host_us() const override { return host_us_; }

 private:
  static double since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
  }

  std::unique_ptr<device::Lane> lane_;
  std::function<Status()> call_;
  int calls_ = 0;
  double host_us_ = 0;
};

}  // namespace

Result<std::unique_ptr<Stream>> open_stream(device::Executor& executor, int device) {
  if (executor.kind() == device::Kind::cuda) return open_cuda_stream(executor, device);
  auto lane = executor.lane(device);
  if (!lane) return lane.status();
  return std::unique_ptr<Stream>(new HostStream(std::move(*lane)));
}

}  // namespace sennit::bench::collective
