#include "bench/collective/stream.h"

#include <chrono>
#include <utility>

namespace sennit::bench::collective {

Result<std::unique_ptr<Stream>> Stream::open(device::Executor& executor, int device) {
  std::unique_ptr<Stream> stream(new Stream(executor));
  auto lane = executor.lane(device);
  if (!lane) return lane.status();
  stream->lane_ = std::move(*lane);
  for (auto* const event : {&stream->begin_, &stream->end_}) {
    auto made = executor.event(device, true);
    if (!made) return made.status();
    *event = std::move(*made);
  }
  return stream;
}

Status Stream::prepare(std::function<Status()> call, int calls, bool graph) {
  graph_.reset();
  call_ = std::move(call);
  calls_ = calls;
  host_us_ = 0;
  if (!graph || !has_graphs_) return {};
  auto made = lane_->graph_of([this] { return enqueue(); });
  if (!made) return made.status();
  graph_ = std::move(*made);
  return {};
}

Result<double> Stream::run() {
  if (auto status = lane_->record(*begin_); !status) return status;
  const auto begin = std::chrono::steady_clock::now();
  if (auto status = graph_ != nullptr ? graph_->launch() : enqueue(); !status) return status;
  if (graph_ == nullptr)
    host_us_ = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
  if (auto status = lane_->record(*end_); !status) return status;
  if (auto status = lane_->synchronize(); !status) return status;
  return end_->since(*begin_);
}

Status Stream::enqueue() {
  for (int i = 0; i < calls_; ++i)
    if (auto status = call_(); !status) return status;
  return {};
}

}  // namespace sennit::bench::collective
