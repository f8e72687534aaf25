// How calls that were taken get onto the program's streams, in the order that NCCL would keep.
#include <algorithm>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "device/joined.h"
#include "shim/nccl/counterpart.h"
#include "shim/nccl/translate.h"

namespace sennit::shim::nccl {

namespace {

/// Whether it is a collective in which ranks wait for each other: NCCL ends one that moves nothing at once.
bool meets_others(const Call& call) {
  return !call.is_message() && call.count > 0;
}

}  // namespace

Result<device::Lane*> Counterpart::lane(Stream stream) {
  if (emulated_) return &node_->lane();
  auto& known = lanes_[stream];
  if (known == nullptr) {
    const device::SetUp set_up(executor_.get());
    auto adopted = executor_->adopt(shape_.device, stream);
    if (!adopted) return adopted.status();
    known = std::move(*adopted);
  }
  return known.get();
}

Result<device::Queue> Counterpart::queue_of(Stream stream) {
  if (emulated_) {                            // the one lane there is stands for all streams
    constexpr std::uintptr_t kPerThread = 2;  // cudaStreamPerThread
    const auto handle = reinterpret_cast<std::uintptr_t>(stream);
    const std::size_t thread = std::hash<std::thread::id>()(std::this_thread::get_id());
    return device::Queue{0, handle, handle == kPerThread ? thread : 0};
  }
  const auto found = lane(stream);
  if (!found) return found.status();
  return (*found)->queue();
}

Status Counterpart::hand_on(Stream stream) {
  const std::lock_guard lock(mutex_);
  const auto next = queue_of(stream);
  if (!next && ours_) return next.status();
  if (ours_ && !ours_->is_same_stream(*next)) {
    const auto behind = lane(stream);
    if (!behind) return behind.status();
    if (auto status = collectives_->follow(**behind); !status) return status;
  }
  nccls_ = next.ok() ? *next : device::Queue{0, ~std::uint64_t{0}, 0};  // no stream of sennit's calls
  ours_.reset();
  return {};
}

Result<bool> Counterpart::take_over(Stream stream) {
  const std::lock_guard lock(mutex_);
  const auto next = queue_of(stream);
  if (!next) return next.status();
  ours_ = *next;
  const auto before = std::exchange(nccls_, std::nullopt);
  return before && !before->is_same_stream(*next);
}

Result<bool> Counterpart::divide(Stream taken, Stream passed_on) {
  const auto nccls_before = [&] {
    const std::lock_guard lock(mutex_);
    return nccls_;
  }();
  if (auto status = hand_on(passed_on); !status) return status;
  const std::lock_guard lock(mutex_);
  const auto next = queue_of(taken);
  if (!next) return next.status();
  ours_ = *next;
  return nccls_before && !nccls_before->is_same_stream(*next);
}

Status Counterpart::is_open() const {
  if (!is_aborted_.load(std::memory_order_acquire)) return {};
  return {Code::aborted, "the program has ended the communicator", "ncclCommAbort"};
}

Status Counterpart::enqueue(const Call& call, device::Lane& lane) {
  if (auto status = is_open(); !status) return status;
  auto request = request_of(call);
  if (!request) return request.status();
  const Verdict& verdict = judge(call);
  const std::uint64_t before = collectives_->calls();
  auto status = collectives_->call(*request, lane, verdict.forced ? &*verdict.forced : nullptr);
  // None where it is captured: nobody waits for it yet.
  if (status.ok()) shares_->fetch_add(Shares::kSennits * (collectives_->calls() - before), std::memory_order_relaxed);
  return status;
}

void Counterpart::note_nccls(const Call& call) {
  if (meets_others(call)) shares_->fetch_add(Shares::kNccls, std::memory_order_relaxed);
}

void Counterpart::note_refused(const Call& call) {
  if (meets_others(call)) shares_->fetch_sub(Shares::kNccls, std::memory_order_relaxed);
}

Status Counterpart::perform(const Call& call) {
  if (call.is_message()) return perform_messages(std::span(&call, 1), false);
  device::Lane* on = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto found = lane(call.stream);
    if (!found) return found.status();
    on = *found;
  }
  return enqueue(call, *on);
}

Result<Counterpart::Aside*> Counterpart::aside_for(std::uint64_t capture) {
  if (Aside* const aside = device::joined_or_free(asides_, capture)) return aside;
  const device::SetUp set_up(executor_.get());
  auto lane = executor_->lane(shape_.device);
  auto begin = executor_->event(shape_.device), end = executor_->event(shape_.device);
  for (const Status& status : {lane.status(), begin.status(), end.status()})
    if (!status.ok()) return status;
  asides_.push_back(std::make_unique<Aside>(Aside{std::move(*lane), std::move(*begin), std::move(*end)}));
  return asides_.back().get();
}

Result<device::Lane*> Counterpart::lane_aside(std::span<const Stream> streams) {
  if (emulated_) return &node_->lane();
  const auto first = lane(streams.front());
  if (!first) return first.status();
  const auto aside = aside_for((*first)->capture());
  if (!aside) return aside.status();
  for (Stream stream : streams) {
    const auto behind = lane(stream);
    if (!behind) return behind.status();
    if (auto status = (*behind)->record(*(*aside)->begin); !status) return status;
    if (auto status = (*aside)->lane->wait(*(*aside)->begin); !status) return status;
  }
  to_join_ = *aside;
  return (*aside)->lane.get();
}

Status Counterpart::perform_aside(const Call& call) {
  device::Lane* on = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto found = lane_aside(std::span(&call.stream, 1));
    if (!found) return found.status();
    on = *found;
  }
  return enqueue(call, *on);
}

Status Counterpart::perform_messages(std::span<const Call> calls, bool aside) {
  if (auto status = is_open(); !status) return status;
  std::vector<coll::Message> messages;
  std::vector<Stream> streams;
  for (const Call& call : calls) {
    const auto type = type_of(call.type);
    if (!type) return Status(Code::invalid_argument, fmt::format("there is no type {}", call.type));
    const bool sends = call.entry == Entry::send;
    coll::Message message;
    message.peer = call.root;
    message.sends = sends;
    message.at = static_cast<std::byte*>(sends ? const_cast<void*>(call.input) : call.output);
    message.bytes = call.count * device::bytes_of(*type);
    messages.push_back(message);
    if (std::ranges::find(streams, call.stream) == streams.end()) streams.push_back(call.stream);
  }
  device::Lane* on = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto found = aside ? lane_aside(streams) : lane(streams.front());
    if (!found) return found.status();
    on = *found;
  }
  return collectives_->send_receive(messages, *on);
}

Status Counterpart::join(std::span<const Stream> streams) {
  const std::lock_guard lock(mutex_);
  if (to_join_ == nullptr) return {};
  const Aside& aside = *to_join_;
  if (auto status = aside.lane->record(*aside.end); !status) return status;
  for (Stream stream : streams) {
    const auto behind = lane(stream);
    if (!behind) return behind.status();
    if (auto status = (*behind)->wait(*aside.end); !status) return status;
  }
  return {};
}

}  // namespace sennit::shim::nccl
