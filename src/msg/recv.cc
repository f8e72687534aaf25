// Handles a message at its receiver: chooses its protocol, and moves it on.
#include <fmt/format.h>

#include "msg/messages.h"

namespace sennit::msg {

std::unique_ptr<Messages::RecvTransfer> Messages::fetch(const Rts& rts, bool matched, void* to, int device,
                                                        bool at_once) {
  Facts facts{.bytes = rts.bytes, .to_gpu = device >= 0, .sync_memops = rts.sync_memops, .at_once = at_once};
  if (select(facts).protocol == Protocol::kernel_get)
    if (auto fetched = kernel_get(rts, matched, to, device)) return fetched;
  facts.block_free = false;
  const std::lock_guard lock(mutex_);
  // A rank that fetches many messages has not come to the RTRs that it has itself: 64 take it longer than others
  // wait. So it shows that it is active.
  if (rts.bytes > kMostTogether) progress_of(group_.rank()).alive.fetch_add(1, std::memory_order_relaxed);
  note_received(rts, matched);
  std::unique_ptr<RecvTransfer> message(new RecvTransfer(*this, rts, to, device));
  facts.accepts = facts.to_gpu && post_rtr(*message);
  message->protocol_ = select(facts).protocol;
  if (message->protocol_ != Protocol::rndv_put) get(*message);
  return message;
}

Result<bool> Messages::RecvTransfer::test() {
  if (!failed_.ok()) return failed_;
  if (completed_) return true;
  if (protocol_ == Protocol::rndv_put) {
    auto accepted = this->accepted();
    if (!accepted) return accepted;
    if (*accepted) return completed_;
    const std::lock_guard lock(messages_.mutex_);
    messages_.get(*this);
  }
  if (protocol_ == Protocol::rndv_get && queue_ == nullptr) {
    completed_ = messages_.has_completed(rts_);
    if (completed_) return true;
    if (auto status = in_flight_.copy->look(); !status) {
      messages_.signal_completion(rts_);  // or its sender would wait for what never comes
      return failed_ = status;
    }
    return false;
  }
  auto done = copied();
  if (done.ok() && !*done) return false;
  messages_.signal_completion(rts_);
  completed_ = true;
  return done;
}

Result<bool> Messages::RecvTransfer::copied() {
  if (queue_ != nullptr) return queue_->done(copy_);
  if (messages_.slot_of(rts_).words[RtsWords::kOffer].load(std::memory_order_acquire) == 0) return false;
  if (auto status = fetch_file(); !status) return status;
  return true;
}

std::string Messages::RecvTransfer::how() const {
  switch (protocol_) {
    case Protocol::rndv_put: return fmt::format("{}, by its sender's GPU", kPlan);
    case Protocol::rndv_get:
      if (queue_ != nullptr) return fmt::format("{}, to host memory", kPlan);
      return fmt::format("{}, by this GPU{}", kPlan, messages_.copies_.how(in_flight_, rts_.bytes));
    case Protocol::kernel_get: return fmt::format("{}, by a block that stays on this GPU", kPlan);
    case Protocol::rndv_buffered: return "from host memory, where its sender had left it";
    default: return "by way of host memory: this process does not reach it";
  }
}

}  // namespace sennit::msg
