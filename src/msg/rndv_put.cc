// Implements rndv_put: the receiver posts an RTR, and the sender's GPU copies.
#include <fmt/format.h>

#include "base/log.h"
#include "msg/messages.h"

namespace sennit::msg {

namespace {

/// A sender may take so long to accept an RTR: a default. A sender that waits looks several times in that time; one
/// that computes costs the receiver so much, a tenth of the copy itself where that is long (at 400 GB/s), and not
/// each time.
constexpr std::chrono::nanoseconds kAccepting{10'000};
constexpr std::uint64_t kBytesANanosecond = 4000;
/// One that looks at many messages finds the RTR in the second of its passes, however long they take.
constexpr std::uint64_t kPasses = 3;
/// So many messages of a sender that did not accept, or rejected, are copied by their receiver without asking it: of
/// one that did not accept once, only until it begins another pass, since of long messages both ways those that are
/// got among others that are put make all take half as long again (16 MiB: 70 instead of 50 µs, 2 × H100). Defaults.
constexpr int kUnresponsive = 16, kUnable = 1024, kTimes = 2;

}  // namespace

// ---- the receiver -------------------------------------------------------------------------------------------------

bool Messages::is_unresponsive(const Rts& rts) {
  Unresponsive& sender = unresponsive_[rts.sender];
  const bool looks_again = progress_of(rts.sender).passes.load(std::memory_order_relaxed) != sender.passes;
  if (rts.bytes > kMostTogether && sender.times < kTimes && looks_again) sender.left = 0;
  if (sender.left == 0) return false;
  --sender.left;
  return true;
}

bool Messages::post_rtr(RecvTransfer& message) {
  const Rts& rts = message.rts_;
  if (is_unresponsive(rts)) return false;
  auto exported = ipc_cache_.export_by_key(message.to_, rts.bytes);
  if (!exported) return false;
  // A long one may also come by way of this process's service.
  if (rts.bytes >= CopyScheduler::kLeastSeveral && !copies_.serves(message.device_)) exported->key.address = 0;
  return rtr_of(rts).post(rts.number, exported->key);
}

Result<bool> Messages::RecvTransfer::accepted() {
  if (messages_.has_completed(rts_)) {
    completed_ = true;
    if (rts_.bytes > kMostTogether) {
      const std::lock_guard lock(messages_.mutex_);
      messages_.unresponsive_[rts_.sender].times = 0;
    }
    if (rts_.bytes >= CopyScheduler::kLeastSeveral)
      if (auto whole = messages_.copies_.fault(); !whole) return whole;
    return true;
  }
  const auto now = std::chrono::steady_clock::now();
  const std::uint64_t passes = messages_.progress_of(rts_.sender).passes.load(std::memory_order_relaxed);
  const std::uint64_t alive = messages_.progress_of(rts_.sender).alive.load(std::memory_order_relaxed);
  if (!until_) passes_at_first_ = passes;
  if (!until_ || alive != alive_)
    until_ = now + kAccepting + std::chrono::nanoseconds(rts_.bytes / kBytesANanosecond);
  alive_ = alive;
  Rtr rtr = messages_.rtr_of(rts_);
  const bool late = rtr.is_posted(rts_.number) && (now > *until_ || passes - passes_at_first_ >= kPasses);
  if (!rtr.is_rejected(rts_.number) && (!late || !rtr.cancel(rts_.number))) return true;
  const std::lock_guard lock(messages_.mutex_);
  Unresponsive& sender = messages_.unresponsive_[rts_.sender];
  const int more = rts_.bytes > kMostTogether ? 1 : 0;
  sender = late ? Unresponsive{sender.times + more, kUnresponsive, passes} : Unresponsive{kTimes, kUnable, passes};
  return false;
}

// ---- the sender ---------------------------------------------------------------------------------------------------

void Messages::SendTransfer::accept_rtr() {
  Rtr rtr = messages_.rtr_of(rts_);
  const auto where = rtr.accept(rts_.number);
  if (!where) return;
  messages_.progress_of(rts_.sender).alive.fetch_add(1, std::memory_order_relaxed);
  const auto held = messages_.gpus_.still_held(data_, device_);
  Result<CopyScheduler::Copying> begun = held;
  if (held.ok())
    begun = messages_.copies_.put(
        {data_, device_, rts_.bytes, to_.dest, *where, &end_word(messages_.slot_of(rts_)), rts_.use});
  if (begun.ok()) {
    in_flight_ = std::move(*begun);
    return;
  }
  log(LogLevel::info, fmt::format("a message is left to its receiver to copy: {}", begun.status().text()));
  rtr.reject(rts_.number);
}

}  // namespace sennit::msg
