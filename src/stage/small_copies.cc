#include "stage/small_copies.h"

#include <sched.h>

#include <atomic>
#include <cstring>

#include <fmt/format.h>

#include "comm/wait.h"
#include "device/host/block.h"
#include "device/host/load.h"
#include "device/launch.h"

namespace sennit::stage {

namespace {

using Clock = std::chrono::steady_clock;

/// Only a copy that waits for its GPU takes so long, as where processes have the GPU in turns of some ms.
constexpr std::chrono::microseconds kSlowCopy{500};

CopyServer::Command command_of(CopyServer::Way way, const void* gpu, const void* host, std::uint64_t bytes) {
  CopyServer::Command command;
  command.at = static_cast<std::byte*>(const_cast<void*>(gpu));
  command.host = static_cast<std::byte*>(const_cast<void*>(host));
  command.bytes = static_cast<std::uint32_t>(bytes);
  command.way = way;
  return command;
}

}  // namespace

SmallCopies::~SmallCopies() {
  if (launched_) (void)lane_->synchronize();  // it leaves by itself
}

Status SmallCopies::launch() {
  if (lane_ == nullptr) {
    auto memory = executor_->allocate_pinned(CopyServer::Mailbox::kBytes);
    if (!memory) return memory.status();
    auto lane = executor_->lane(device_);
    if (!lane) return lane.status();
    memory_ = std::move(*memory);
    lane_ = std::move(*lane);
    std::memset(memory_.data(), 0, CopyServer::Mailbox::kBytes);
    mailbox_ = CopyServer::Mailbox::at(memory_.data());
    if (auto status = executor_->load(device::program_of<CopyServer>(), device_); !status) return status;
  }
  first_ = asked_ + 2;  // never a number that a launch before has left at
  asked_ = first_ - 1;
  CopyServer server;
  server.mailbox = mailbox_;
  server.first = first_;
  server.patience_ns = static_cast<std::uint64_t>(stay_.count());
  return device::launch(*lane_, server, 1, CopyServer::kThreads);
}

void SmallCopies::is_gone() {
  launched_ = false;
  run_.gone(device::load_acquire(mailbox_.last) + 1 - first_, late_);
  late_ = false;
}

Result<bool> SmallCopies::is_server_there() {
  if (of_no_use_ || stay_ <= stay_.zero()) return false;
  if (launched_ && device::load_acquire(mailbox_.gone) == first_) is_gone();
  const bool due = run_.next(Clock::now());
  if (launched_) return device::load_acquire(mailbox_.here) == first_;
  if (!due) return false;
  const device::SetUp set_up(lane_ == nullptr ? executor_.get() : nullptr);
  if (auto status = launch(); !status)
    of_no_use_ = true;
  else
    launched_ = true;
  return false;  // this copy need not wait for the block to begin
}

template <class Ready>
Status SmallCopies::wait_for(Ready ready) {
  constexpr int kSpins = 4000, kLook = 1 << 16;  // defaults: some 20 µs, and now and then
  Clock::time_point deadline{};
  for (int spin = 0; !ready(); ++spin) {
    if (spin < kSpins) continue;
    sched_yield();
    if (spin % kLook != kSpins) continue;
    if (auto idle = lane_->idle(); !idle) return idle.status();
    if (deadline == Clock::time_point{}) deadline = Clock::now() + comm::default_wait_limit();
    if (Clock::now() > deadline)
      return Status(Code::timed_out,
                    fmt::format("the block on GPU {} that does small copies does not answer", device_));
  }
  return {};
}

template <class Done>
Result<bool> SmallCopies::ask(const CopyServer::Command& command, Done done) {
  const auto since = Clock::now();
  device::HostBlock host(0, 1, {});
  const device::PacketUse use{++asked_, 0};
  host.send_packets(
      1,
      [&](unsigned) {
        return device::PacketSend{&command, mailbox_.command, sizeof command};
      },
      use);
  const bool may_leave = host.meet(mailbox_.asked, asked_, mailbox_.leaving);
  const auto is_over = [&] { return may_leave && device::load_acquire(mailbox_.gone) == first_; };
  auto status = wait_for([&] { return done() || is_over(); });
  if (status.ok() && is_over()) {
    const bool did = device::load_acquire(mailbox_.last) == asked_;
    is_gone();
    if (!did) return false;
    status = wait_for(done);  // what it did last may come after what it said last
  }
  if (!status) {
    of_no_use_ = true;
    return status;
  }
  late_ = late_ || Clock::now() - since > kSlowCopy;
  done_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

Result<bool> SmallCopies::ask(const CopyServer::Command& command) {
  return ask(command, [this] { return device::load_acquire(mailbox_.done) == asked_; });
}

Result<bool> SmallCopies::to_host(void* host, const void* gpu, std::uint64_t bytes) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || bytes == 0 || bytes > kMostToHost) return false;
  if (auto there = is_server_there(); !there || !*there) return there;
  const auto command = command_of(CopyServer::Way::to_host, gpu, mailbox_.bytes, bytes);
  if (bytes > CopyServer::kFew) {
    auto done = ask(command);
    if (done.ok() && *done) std::memcpy(host, mailbox_.bytes, bytes);
    return done;
  }
  const device::PacketUse use{device::tag_of(asked_ + 1), 0};
  const std::uint64_t packets = device::packets_of(bytes);
  std::uint64_t came = 0;
  auto done = ask(command, [&] {
    const auto is_there = [&](const device::Packet& one) {
      return device::load_acquire(&one.tag0) == use.tag && device::load_acquire(&one.tag1) == use.tag;
    };
    while (came < packets && is_there(mailbox_.few[came])) ++came;
    return came == packets;
  });
  if (!done || !*done) return done;
  const auto receive = [&](unsigned) { return device::PacketReceive{mailbox_.few, host, bytes, 0}; };
  return device::HostBlock(0, 1, {}).receive_packets(1, receive, use, 0);
}

Result<bool> SmallCopies::to_gpu(void* gpu, const void* host, std::uint64_t bytes) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || bytes == 0 || bytes > kMostToGpu) return false;
  if (auto there = is_server_there(); !there || !*there) return there;
  auto command = command_of(CopyServer::Way::to_gpu, gpu, mailbox_.bytes, bytes);
  std::memcpy(bytes <= CopyServer::kFew ? command.few : mailbox_.bytes, host, bytes);
  return ask(command);
}

Result<bool> SmallCopies::fetch(void* to, const void* from, std::uint64_t bytes) {
  return ask(command_of(CopyServer::Way::between, to, from, bytes));
}

std::size_t SmallCopies::together(std::span<const Piece> pieces) {
  std::uint64_t room = 0;
  std::size_t count = 0;
  for (; count < pieces.size() && count < CopyServer::kParts; ++count) {
    if (pieces[count].bytes > kMostToGpu) break;
    room += CopyServer::Parts::room_of(static_cast<std::uint32_t>(pieces[count].bytes));
    if (room > kMostToGpu) break;
  }
  return count;
}

Result<bool> SmallCopies::to_gpu(std::span<const Piece> pieces) {
  if (pieces.size() == 1) return to_gpu(pieces[0].gpu, pieces[0].host, pieces[0].bytes);
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || pieces.empty() || together(pieces) < pieces.size()) return false;
  if (auto there = is_server_there(); !there || !*there) return there;
  CopyServer::Command command;
  command.way = CopyServer::Way::parts_to_gpu;
  command.bytes = static_cast<std::uint32_t>(pieces.size());
  command.parts = {};
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    command.parts.at[k] = static_cast<std::byte*>(pieces[k].gpu);
    command.parts.bytes[k] = static_cast<std::uint32_t>(pieces[k].bytes);
  }
  const auto count = static_cast<unsigned>(pieces.size());
  const bool few = command.parts.begin(count) <= sizeof command.parts.few;
  if (!few) command.host = mailbox_.bytes;
  std::byte* const bytes = few ? command.parts.few : mailbox_.bytes;
  for (unsigned k = 0; k < count; ++k)
    if (pieces[k].bytes != 0) std::memcpy(bytes + command.parts.begin(k), pieces[k].host, pieces[k].bytes);
  return ask(command);
}

}  // namespace sennit::stage
