#include "msg/copy_scheduler.h"

#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "base/units.h"
#include "msg/transfer.h"

namespace sennit::msg {

static_assert(kMostTogether == BatchedCopy::kLongest);

namespace {

/// The window that peers' services know messages by; a place in it is an address.
constexpr std::uint32_t kMessagesWindow = 0;

/// Messages to a peer take two lanes in turn from so many bytes on; and so many bytes are copied by engines before
/// the completions of all these are signalled. Defaults.
constexpr std::uint64_t kLeastTwoLanes = 1 << 20, kToldTogether = 1 << 20;

}  // namespace

Result<device::Lane*> CopyScheduler::lane_of(Way way, int peer, int device, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (!reachable_) {
    auto pinned = executor_.pin(group_.control().data(), group_.control().bytes());
    reachable_ = pinned.status();
    if (pinned.ok()) pinned_ = std::move(*pinned);
  }
  if (!reachable_->ok()) return *reachable_;
  // Each peer has lanes of its own, so that a short message to one does not wait for a long one to another. Long
  // messages have two, so that the next one is on its way while the completion of one is signalled.
  Lanes& of_peer = lanes_[{way, peer, device}];
  auto& lane = of_peer.lanes[bytes >= kLeastTwoLanes ? of_peer.next++ % of_peer.lanes.size() : 0];
  if (lane == nullptr) {
    auto made = executor_.lane(device);
    if (!made) return made.status();
    lane = std::move(*made);
  }
  return lane.get();
}

Status CopyScheduler::make_transport(int device) {
  auto inputs = path::find_plan_inputs(executor_);
  if (!inputs) return inputs.status();
  const auto options = path::transfer_options(inputs->tuned != nullptr, false);
  if (!options || options->splits.single) return options.status();
  auto executor = make_executor_();
  if (!executor) return executor.status();
  (*executor)->set_timeout(std::chrono::duration_cast<std::chrono::nanoseconds>(group_.limit()));
  group_.on_abort([executor = *executor](const Status&) { executor->abort(); });
  auto made = path::Transport::create(*executor, group_, device, std::move(*inputs), false,
                                      [this](std::uint32_t window, std::uint64_t address, std::uint64_t bytes) {
                                        return resolve(window, address, bytes);
                                      });
  if (!made) return made.status();
  device_ = device;
  transports_ = std::move(*executor);
  transport_ = std::move(*made);
  faults_.store(transports_.get(), std::memory_order_release);
  return {};
}

path::Transport* CopyScheduler::transport(int device) {
  std::call_once(once_, [&] {
    if (const auto made = make_transport(device); !made)
      log(LogLevel::warning, fmt::format("messages take the direct path alone: {}", made.text()));
  });
  return device == device_ ? transport_.get() : nullptr;
}

bool CopyScheduler::serves(int device) {
  return transport(device) != nullptr;
}

Status CopyScheduler::fault() const {
  const device::Executor* const of_paths = faults_.load(std::memory_order_acquire);
  return of_paths != nullptr ? of_paths->fault() : Status();
}

Result<std::byte*> CopyScheduler::resolve(std::uint32_t window, std::uint64_t address, std::uint64_t bytes) {
  auto* const data = reinterpret_cast<std::byte*>(address);
  if (window == kMessagesWindow && ipc_cache_.can_export(data, bytes)) return data;
  return Status(Code::not_found, "a peer's message goes to memory that cannot be exported");
}

Status CopyScheduler::fail(device::Lane& lane, Status status) {
  if (auto ended = lane.synchronize(); !ended) group_.abort(ended);
  return status;
}

Result<std::shared_ptr<InFlight>> CopyScheduler::begin(int device, device::Lane& lane,
                                                       const BatchedCopy::Copy& copy) {
  auto in_flight = std::make_shared<InFlight>();
  if (CopyBatch* const together = CopyBatch::current(); together != nullptr && copy.bytes <= kMostTogether) {
    together->add(*this, {device, &lane, copy, in_flight});
    return in_flight;
  }
  auto status = lane.copy(copy.to, copy.from, copy.bytes);
  if (status.ok()) status = lane.signal(copy.completion, copy.value);
  if (!status) return fail(lane, std::move(status));
  in_flight->lane_ = &lane;
  return in_flight;
}

Result<CopyScheduler::Copying> CopyScheduler::put(const Message& message) {
  auto there = ipc_cache_.import_memory(message.dest, message.where, message.device);
  if (!there) return there.status();
  auto lane = lane_of(Way::to_peer, message.dest, message.device, message.bytes);
  if (!lane) return lane.status();
  const bool is_long = message.bytes >= kLeastSeveral && message.where.address != 0;
  path::Transport* const several = is_long ? transport(message.device) : nullptr;
  std::byte* const to = there->at(message.where.offset);
  if (several == nullptr) {
    auto pending =
        begin(message.device, **lane, {to, message.data, message.bytes, message.completion, message.value});
    if (!pending) return pending.status();
    return Copying{std::move(there->mapping), std::move(*pending)};
  }
  path::End end{.data = to, .rank = message.dest, .window = kMessagesWindow, .offset = message.where.address};
  // A device that this process does not see still has a number that no lane of ours has.
  end.device = there->device >= 0 ? there->device : static_cast<int>(executor_.devices().size());
  if (end.device == message.device) end.at_owner = to;
  const auto from = path::End::local(const_cast<void*>(message.data), message.device);
  auto status = several->move(end, from, message.bytes, **lane);
  if (status.ok()) status = (*lane)->signal(message.completion, message.value);
  // Only when nothing is under way any more may the receiver do it itself.
  if (!status) return fail(**lane, std::move(status));
  auto copy = std::make_shared<InFlight>();
  copy->lane_ = *lane;
  return Copying{std::move(there->mapping), std::move(copy), Copying::Ends{end.device, message.device}};
}

std::string CopyScheduler::how(const Copying& copy, std::uint64_t bytes) {
  if (copy.copy != nullptr && copy.copy->has_kernel()) return ", with others by one kernel";
  if (!copy.several || transport_ == nullptr) return {};
  const auto split = transport_->transfer_engine().plans().split_of(copy.several->to, copy.several->from, bytes);
  if (!split || split->shares.size() < 2) return {};
  std::string paths;
  for (const path::Share& share : split->shares)
    paths += fmt::format("{} {} of {}", paths.empty() ? ":" : ",", format_bytes(share.bytes),
                         share.candidate.route.name());
  return fmt::format(", over several paths{}", paths);
}

Result<CopyScheduler::Copying> CopyScheduler::get(const BatchedCopy::Copy& copy, int sender, int device,
                                                  std::shared_ptr<const path::Mapping> there) {
  auto lane = lane_of(Way::from_peer, sender, device, copy.bytes);
  if (!lane) return lane.status();
  auto pending = begin(device, **lane, copy);
  if (!pending) return pending.status();
  return Copying{std::move(there), std::move(*pending)};
}

// ---- many at once -------------------------------------------------------------------------------------------------

BatchedCopy& CopyScheduler::batched_copy_of(int device) {
  const std::lock_guard lock(mutex_);
  auto& many = batched_[device];
  if (many == nullptr) many = std::make_unique<BatchedCopy>(executor_, device);
  return *many;
}

Status CopyScheduler::begin_by_engines(std::span<const CopyBatch::One> some) {
  // An engine stops for some µs to tell of an end.
  while (!some.empty()) {
    std::uint64_t bytes = 0;
    std::size_t count = 0;
    while (count < some.size() && bytes < kToldTogether) bytes += some[count++].copy.bytes;
    const auto now = some.first(count);
    for (const auto& one : now)
      if (auto status = one.lane->copy(one.copy.to, one.copy.from, one.copy.bytes); !status) return status;
    for (const auto& one : now) {
      if (auto status = one.lane->signal(one.copy.completion, one.copy.value); !status) return status;
      const std::lock_guard lock(one.in_flight->mutex_);
      one.in_flight->lane_ = one.lane;
    }
    some = some.subspan(count);
  }
  return {};
}

void CopyScheduler::begin(std::span<const CopyBatch::One> all) {
  std::vector<BatchedCopy::Copy> copies;
  while (!all.empty()) {
    const int device = all.front().device;
    copies.clear();
    while (copies.size() < all.size() && copies.size() < BatchedCopyKernel::kMost &&
           all[copies.size()].device == device)
      copies.push_back(all[copies.size()].copy);
    const auto some = all.first(copies.size());
    all = all.subspan(copies.size());
    auto launch = batched_copy_of(device).begin(copies);
    if (!launch) log(LogLevel::info, fmt::format("messages are not copied together: {}", launch.status().text()));
    if (!launch || *launch == nullptr) {
      if (auto status = begin_by_engines(some); !status) group_.abort(status);
      continue;
    }
    for (const auto& one : some) {
      const std::lock_guard lock(one.in_flight->mutex_);
      one.in_flight->launch_ = *launch;
    }
  }
}

}  // namespace sennit::msg
