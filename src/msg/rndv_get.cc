// Implements rndv_get: the receiver maps the sender's memory, and copies from there.
#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "msg/messages.h"

namespace sennit::msg {

Status Messages::begin_get(RecvTransfer& message) {
  device::Executor& executor = gpus_.executor();
  const Rts& rts = message.rts_;
  const bool to_gpu = message.device_ >= 0;
  if (to_gpu)
    if (auto status = gpus_.still_held(message.to_, message.device_); !status) return status;
  // The GPU at this end copies; where that is host memory, the one at the other.
  const int device = to_gpu ? message.device_ : std::max(executor.find(rts.device), 0);
  auto there = ipc_cache_.import_memory(rts.sender, rts.memory, device);
  if (!there) return there.status();
  const std::byte* const from = there->at(rts.memory.offset);
  if (to_gpu) {
    auto begun = copies_.get({message.to_, from, rts.bytes, &end_word(slot_of(rts)), rts.use}, rts.sender, device,
                             std::move(there->mapping));
    if (begun) message.in_flight_ = std::move(*begun);
    return begun.status();
  }
  auto& queue = queues_[device];
  if (queue == nullptr) {
    auto made = stage::CopyQueue::create(executor, device);
    if (!made) return made.status();
    queue = std::move(*made);
  }
  const auto copy = queue->copy(message.to_, from, rts.bytes);
  if (!copy) return copy.status();
  message.queue_ = queue.get();
  message.copy_ = *copy;
  message.mapping_ = std::move(there->mapping);
  return {};
}

void Messages::get(RecvTransfer& message) {
  const Rts& rts = message.rts_;
  if (!rtr_of(rts).claim(rts.number)) {
    message.protocol_ = Protocol::rndv_buffered;
    return;
  }
  message.protocol_ = Protocol::rndv_get;
  const Status begun = begin_get(message);
  if (begun.ok()) return;
  message.protocol_ = Protocol::host_bounce;
  if (!warned_) log(LogLevel::info, fmt::format("messages come by way of host memory: {}", begun.text()));
  warned_ = true;
  slot_of(rts).words[RtsWords::kAsk].store(rts.number, std::memory_order_release);
}

}  // namespace sennit::msg
