// Implements kernel_get: a block that stays on the receiver's GPU fetches a short message.
#include "msg/messages.h"

namespace sennit::msg {

static_assert(kMostKernelGet == stage::SmallCopies::kMostBetween);

std::unique_ptr<Messages::RecvTransfer> Messages::kernel_get(const Rts& rts, bool matched, void* to, int device) {
  Result<Imported> there = Status();
  const auto fetched = gpus_.between(to, rts.bytes, device, [&]() -> const std::byte* {
    there = ipc_cache_.import_memory(rts.sender, rts.memory, device);
    const bool may = there.ok() && rtr_of(rts).claim(rts.number);
    return may ? there->at(rts.memory.offset) : nullptr;
  });
  if (fetched.ok() && !*fetched) return nullptr;
  std::unique_ptr<RecvTransfer> message(new RecvTransfer(*this, rts, to, device));
  {
    const std::lock_guard lock(mutex_);
    note_received(rts, matched);
  }
  signal_completion(rts);
  message->protocol_ = Protocol::kernel_get;
  message->completed_ = true;
  message->failed_ = fetched.status();
  return message;
}

}  // namespace sennit::msg
