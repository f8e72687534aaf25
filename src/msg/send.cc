// Handles a message at its sender: moves it on, by whatever protocol.
#include <fmt/format.h>

#include "msg/messages.h"

namespace sennit::msg {

Messages::SendTransfer::~SendTransfer() {
  const Buffered message{rts_, to_, time_, offered_};
  const std::lock_guard lock(messages_.mutex_);
  if (buffered_) {
    messages_.buffered_.push_back(message);
  } else if (has_completed()) {
    messages_.forget(message);
  } else {
    if (offered_ != 0) messages_.group_.withdraw(offered_ - 1);
    // A receiver that has not answered may still do so: the slot is then lost rather than given to another message.
    messages_.slot_of(rts_).words[RtsWords::kEnvelope].store(Envelope::kNoReceiver, std::memory_order_relaxed);
    messages_.slots_.lose(rts_.slot);
  }
}

Result<bool> Messages::SendTransfer::test() {
  if (buffered_) return true;
  if (has_completed()) {
    if (rts_.bytes >= CopyScheduler::kLeastSeveral)
      if (auto whole = messages_.copies_.fault(); !whole) return whole;
    return true;
  }
  if (in_flight_.copy != nullptr) {
    if (auto status = check_in_flight(); !status) return status;
    return false;
  }
  accept_rtr();
  auto& words = messages_.slot_of(rts_).words;
  if (offered_ == 0 && words[RtsWords::kAsk].load(std::memory_order_acquire) == rts_.number) {
    auto status = copy_to_file();
    words[RtsWords::kOffer].store(status.ok() ? offered_ : RtsWords::kNoCopy, std::memory_order_release);
    if (!status) return std::move(status).in("lend host memory to a receiver");
  }
  return false;
}

Status Messages::SendTransfer::check_in_flight() const {
  auto status = in_flight_.copy->look();
  if (!status) messages_.group_.abort(status);  // the receiver waits for what will never be signalled
  return status;
}

std::string Messages::SendTransfer::how() const {
  if (buffered_)
    return fmt::format("left in host memory: it had waited {} ms for its receiver",
                       std::chrono::milliseconds(kWaits).count());
  if (offered_ != 0) return "by way of host memory: its receiver does not reach it";
  if (in_flight_.copy == nullptr) return fmt::format("{}, by its receiver", kPlan);
  return fmt::format("{}, by this GPU{}", kPlan, messages_.copies_.how(in_flight_, rts_.bytes));
}

}  // namespace sennit::msg
