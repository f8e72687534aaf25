#include "shim/mpi/pushes.h"

#include <utility>

#include <fmt/format.h>

#include "base/log.h"

namespace sennit::shim::mpi {

namespace {

/// The window that peers' services know messages by; a place in it is an address.
constexpr std::uint32_t kMessagesWindow = 0;

}  // namespace

Result<device::Lane*> Pushes::lane_to(int dest, int device) {
  const std::lock_guard lock(mutex_);
  if (!reachable_) {
    auto pinned = executor_.pin(group_.control().data(), group_.control().bytes());
    reachable_ = pinned.status();
    if (pinned.ok()) pinned_ = std::move(*pinned);
  }
  if (!reachable_->ok()) return *reachable_;
  // One a receiver: a short message to one does not wait for a long one to another.
  auto& lane = lanes_[{dest, device}];
  if (lane == nullptr) {
    auto made = executor_.lane(device);
    if (!made) return made.status();
    lane = std::move(*made);
  }
  return lane.get();
}

Status Pushes::make_transport(int device) {
  auto basis = path::find_basis(executor_, std::nullopt);
  if (!basis) return basis.status();
  const auto options = path::mover_options(basis->tuned != nullptr, false);
  if (!options || options->single) return options.status();
  auto executor = make_executor_();
  if (!executor) return executor.status();
  (*executor)->set_timeout(std::chrono::duration_cast<std::chrono::nanoseconds>(group_.limit()));
  group_.on_abort([executor = *executor](const Status&) { executor->abort(); });
  auto made = path::Transport::create(*executor, group_, device, std::move(*basis), false,
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

path::Transport* Pushes::transport(int device) {
  std::call_once(once_, [&] {
    if (const auto made = make_transport(device); !made)
      log(LogLevel::warning, fmt::format("messages take the direct path alone: {}", made.text()));
  });
  return device == device_ ? transport_.get() : nullptr;
}

bool Pushes::serves(int device) {
  return transport(device) != nullptr;
}

Status Pushes::fault() const {
  const device::Executor* const of_paths = faults_.load(std::memory_order_acquire);
  return of_paths != nullptr ? of_paths->fault() : Status();
}

Result<std::byte*> Pushes::resolve(std::uint32_t window, std::uint64_t address, std::uint64_t bytes) {
  auto* const data = reinterpret_cast<std::byte*>(address);
  if (window == kMessagesWindow && loans_.can_lend(data, bytes)) return data;
  return Status(Code::not_found, "a peer's message goes to memory that cannot be lent");
}

Result<Pushes::UnderWay> Pushes::push(const Message& message) {
  auto there = loans_.borrow(message.dest, message.where, message.device);
  if (!there) return there.status();
  auto lane = lane_to(message.dest, message.device);
  if (!lane) return lane.status();
  const bool is_long = message.bytes >= kLeastSeveral && message.where.address != 0;
  path::Transport* const several = is_long ? transport(message.device) : nullptr;
  std::byte* const to = there->at(message.where.offset);
  Status status;
  if (several == nullptr) {
    status = (*lane)->copy(to, message.data, message.bytes);
  } else {
    path::End end{.data = to, .rank = message.dest, .window = kMessagesWindow, .offset = message.where.address};
    // A device that this process does not see still has a number that no lane of ours has.
    end.device = there->device >= 0 ? there->device : static_cast<int>(executor_.devices().size());
    if (end.device == message.device) end.at_owner = to;
    const auto from = path::End::local(const_cast<void*>(message.data), message.device);
    status = several->move(end, from, message.bytes, **lane);
  }
  if (status.ok()) status = (*lane)->signal(message.told, message.value);
  if (status.ok()) return UnderWay{std::move(there->mapping), *lane};
  // Only when nothing is under way any more may the receiver do it itself.
  if (auto ended = (*lane)->synchronize(); !ended) group_.abort(ended);
  return status;
}

}  // namespace sennit::shim::mpi
