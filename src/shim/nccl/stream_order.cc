#include "shim/nccl/stream_order.h"

#include <functional>
#include <thread>
#include <utility>

#include "device/joined.h"

namespace sennit::shim::nccl {

Result<device::Lane*> StreamOrder::lane(Stream stream) {
  const std::lock_guard lock(mutex_);
  return lane_locked(stream);
}

Result<device::Lane*> StreamOrder::lane_locked(Stream stream) {
  if (emulated_ != nullptr) return emulated_;
  auto& found = lanes_[stream];
  if (found == nullptr) {
    const device::SetUp set_up(&executor_);
    auto adopted = executor_.adopt(device_, stream);
    if (!adopted) return adopted.status();
    found = std::move(*adopted);
  }
  return found.get();
}

Result<device::Queue> StreamOrder::queue_of(Stream stream) {
  if (emulated_ != nullptr) {
    constexpr std::uintptr_t kPerThread = 2;  // cudaStreamPerThread
    const auto handle = reinterpret_cast<std::uintptr_t>(stream);
    const std::size_t thread = std::hash<std::thread::id>()(std::this_thread::get_id());
    return device::Queue{0, handle, handle == kPerThread ? thread : 0};
  }
  const auto found = lane_locked(stream);
  if (!found) return found.status();
  return (*found)->queue();
}

Status StreamOrder::order_nccl_after(Stream stream) {
  const std::lock_guard lock(mutex_);
  return nccl_after_locked(stream);
}

Status StreamOrder::nccl_after_locked(Stream stream) {
  const auto next = queue_of(stream);
  if (!next && ours_) return next.status();
  if (ours_ && !ours_->is_same_stream(*next)) {
    const auto behind = lane_locked(stream);
    if (!behind) return behind.status();
    if (auto status = collectives_.follow(**behind); !status) return status;
  }
  nccls_ = next.ok() ? *next : device::Queue{0, ~std::uint64_t{0}, 0};  // no stream of sennit's calls
  ours_.reset();
  return {};
}

Result<bool> StreamOrder::order_ours_after(Stream stream) {
  const std::lock_guard lock(mutex_);
  const auto next = queue_of(stream);
  if (!next) return next.status();
  ours_ = *next;
  const auto before = std::exchange(nccls_, std::nullopt);
  return before && !before->is_same_stream(*next);
}

Result<bool> StreamOrder::fork(Stream ours, Stream nccls) {
  const std::lock_guard lock(mutex_);
  const auto before = nccls_;
  if (auto status = nccl_after_locked(nccls); !status) return status;
  const auto next = queue_of(ours);
  if (!next) return next.status();
  ours_ = *next;
  return before && !before->is_same_stream(*next);
}

Result<StreamOrder::SideStream*> StreamOrder::side_stream_for(std::uint64_t capture) {
  if (SideStream* const found = device::joined_or_free(side_streams_, capture)) return found;
  const device::SetUp set_up(&executor_);
  auto lane = executor_.lane(device_);
  auto begin = executor_.event(device_), end = executor_.event(device_);
  for (const Status& status : {lane.status(), begin.status(), end.status()})
    if (!status.ok()) return status;
  side_streams_.push_back(
      std::make_unique<SideStream>(SideStream{std::move(*lane), std::move(*begin), std::move(*end)}));
  return side_streams_.back().get();
}

Result<device::Lane*> StreamOrder::side_stream(std::span<const Stream> streams) {
  if (emulated_ != nullptr) return emulated_;
  const std::lock_guard lock(mutex_);
  const auto first = lane_locked(streams.front());
  if (!first) return first.status();
  const auto side = side_stream_for((*first)->capture());
  if (!side) return side.status();
  for (Stream stream : streams) {
    const auto behind = lane_locked(stream);
    if (!behind) return behind.status();
    if (auto status = (*behind)->record(*(*side)->begin); !status) return status;
    if (auto status = (*side)->lane->wait(*(*side)->begin); !status) return status;
  }
  latest_ = *side;
  return (*side)->lane.get();
}

Status StreamOrder::join_side_stream(std::span<const Stream> streams) {
  const std::lock_guard lock(mutex_);
  if (latest_ == nullptr) return {};
  if (auto status = latest_->lane->record(*latest_->end); !status) return status;
  for (Stream stream : streams) {
    const auto behind = lane_locked(stream);
    if (!behind) return behind.status();
    if (auto status = (*behind)->wait(*latest_->end); !status) return status;
  }
  return {};
}

}  // namespace sennit::shim::nccl
