// Implements rndv_buffered and host_bounce: the sender makes a copy of the message in host memory, because its
// receiver does not come, or because the receiver has asked for it.
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "base/units.h"
#include "msg/messages.h"

namespace sennit::msg {

namespace {

/// A default: a rank that waits for many messages looks at each, at tens of ns.
constexpr unsigned kLooksAtClock = 16;

/// Maps all of a file; null data where that fails.
device::Memory map_all(int file, std::uint64_t bytes) {
  void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (data == MAP_FAILED) return {};
  return device::Memory(data, bytes, [bytes](void* at) { munmap(at, bytes); });
}

}  // namespace

// ---- the sender ---------------------------------------------------------------------------------------------------

void Messages::SendTransfer::is_waited_for() {
  const Facts facts{.bytes = rts_.bytes, .long_waited = true};
  if (keeps_none_ || in_flight_.copy != nullptr || offered_ != 0 || select(facts).protocol != Protocol::rndv_buffered)
    return;
  if (looks_++ % kLooksAtClock != 0) return;
  const auto now = std::chrono::steady_clock::now();
  if (!waited_since_) waited_since_ = now;
  if (now - *waited_since_ > kWaits) leave_copy();
}

void Messages::SendTransfer::leave_copy() {
  keeps_none_ = true;
  if (auto status = copy_to_file(); !status)
    return log(LogLevel::info, fmt::format("a message waits for its receiver: {}", status.text()));
  buffered_ = messages_.rtr_of(rts_).leave_copy(rts_.number);
  if (buffered_) {
    messages_.slot_of(rts_).words[RtsWords::kOffer].store(offered_, std::memory_order_release);
  } else {
    messages_.group_.withdraw(offered_ - 1);
    offered_ = 0;
  }
}

Status Messages::SendTransfer::copy_to_file() {
  const std::uint64_t bytes = rts_.bytes;
  if (auto status = messages_.gpus_.still_held(data_, device_); !status) return status;
  UniqueFd file(memfd_create("sennit-message", MFD_CLOEXEC));
  if (!file.valid() || ftruncate(file.get(), static_cast<off_t>(bytes)) != 0)
    return Status(Code::out_of_memory,
                  fmt::format("no {} of shared memory: {}", format_bytes(bytes), strerror(errno)));
  const device::Memory mapped = map_all(file.get(), bytes);
  if (mapped.data() == nullptr)
    return Status(Code::out_of_memory, fmt::format("cannot map {}: {}", format_bytes(bytes), strerror(errno)));
  if (auto status = messages_.gpus_.copy(mapped.data(), data_, bytes); !status) return status;
  auto offered = messages_.group_.offer(std::move(file));
  if (!offered) return offered.status();
  offered_ = *offered + 1;
  return {};
}

// ---- the receiver -------------------------------------------------------------------------------------------------

Status Messages::RecvTransfer::fetch_file() {
  const std::uint64_t offered = messages_.slot_of(rts_).words[RtsWords::kOffer].load(std::memory_order_acquire);
  if (offered == RtsWords::kNoCopy) return Status(Code::out_of_memory, "the sender has no host memory for a copy");
  auto file = messages_.group_.fetch(rts_.sender, offered - 1);
  if (!file) return file.status();
  const device::Memory mapped = map_all(file->get(), rts_.bytes);
  if (mapped.data() == nullptr) return Status(Code::out_of_memory, "a message's host memory cannot be mapped");
  if (device_ >= 0)
    if (auto status = messages_.gpus_.still_held(to_, device_); !status) return status;
  return messages_.gpus_.copy(to_, mapped.data(), rts_.bytes);
}

}  // namespace sennit::msg
