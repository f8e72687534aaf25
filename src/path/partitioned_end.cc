// Implements what both ends of a partitioned message have in common.
#include <atomic>

#include <fmt/format.h>

#include "base/other_processes.h"
#include "base/units.h"
#include "comm/wait.h"
#include "path/doorbell.h"
#include "path/partitioned.h"

namespace sennit::path {

std::string PartitionedEnd::about() const {
  return fmt::format("{} of {} {} rank {} with tag {}, start {}", name_.sends ? "send" : "receive", text(cut_),
                     name_.sends ? "to" : "from", name_.peer, name_.tag, start_);
}

void PartitionedEnd::fail(Status why) {
  if (failure_.ok()) failure_ = std::move(why);
}

Status PartitionedEnd::state() const {
  if (!failure_.ok()) return failure_;
  return node_.group().failed() ? node_.group().check() : Status();
}

void PartitionedEnd::ring() {
  if (name_.peer == node_.rank())
    proxy_.wake();
  else
    ring_bell(node_.group(), name_.peer);
}

void PartitionedEnd::hear(OtherEnd other) {
  const std::lock_guard lock(mutex_);
  if (other_) return;
  if (other.cut.bytes() != cut_.bytes()) {
    const PartitionCut &sent = name_.sends ? cut_ : other.cut, &received = name_.sends ? other.cut : cut_;
    fail(Status(Code::mismatch,
                fmt::format("a message is sent as {} ({}) and received as {} ({})", text(sent),
                            format_bytes(sent.bytes()), text(received), format_bytes(received.bytes())),
                about(), "Give both sides equally many bytes; the cuts may differ"));
  }
  other_ = std::move(other);
}

Proxy::Client::Found PartitionedEnd::serve() {
  const std::lock_guard lock(mutex_);
  if (closed_) return Proxy::Client::Found::nothing;
  if (connected_) return move_on();
  return other_ && failure_.ok() ? connect(*other_) : Proxy::Client::Found::nothing;
}

void PartitionedEnd::stop() {
  const std::lock_guard lock(mutex_);
  fail(Status(Code::invalid_argument, "the communicator of a partitioned message was destroyed", about(),
              "Free the message before its communicator"));
}

Status PartitionedEnd::start() {
  const std::lock_guard lock(mutex_);
  if (auto status = state(); !status) return status;
  if (active_)
    return Status(Code::invalid_argument, fmt::format("start {} is not over", start_), about(),
                  "Wait for it, or test until it is done");
  ++start_;
  active_ = true;
  arrived_ = 0;
  begin();
  return {};
}

bool PartitionedEnd::have_arrived(PartitionRange range) const {
  for (std::uint32_t partition = range.begin; partition < range.end; ++partition)
    if (std::atomic_ref(*words_.arrived(partition)).load(std::memory_order_acquire) != start_) return false;
  heard_others();
  return true;
}

Result<bool> PartitionedEnd::is_over() {
  if (connected_) (void)move_on();
  if (!failure_.ok()) return failure_;
  if (!active_) return true;
  if (!connected_) return false;
  // Asked first: the last arrivals come before the end that brought them goes.
  const bool is_alone = other_is_freed();
  const std::uint32_t all = senders_cut().partitions;
  while (arrived_ < all && have_arrived({arrived_, arrived_ + 1})) ++arrived_;
  if (arrived_ == all) return true;
  if (!is_alone) return false;
  fail(Status(Code::mismatch, fmt::format("rank {} has freed its end of a message", name_.peer), about(),
              "Start both ends equally often"));
  return failure_;
}

Result<bool> PartitionedEnd::end_start() {
  active_ = false;
  if (auto misuse = take_misuse(); !misuse) return misuse;
  return true;
}

Result<bool> PartitionedEnd::test() {
  const std::lock_guard lock(mutex_);
  const auto over = is_over();
  if (!over) return over.status();
  if (*over) return end_start();
  if (node_.group().failed()) return node_.group().check();
  return false;
}

Status PartitionedEnd::wait() {
  comm::Group& group = node_.group();
  comm::Waiting what;
  {
    const std::lock_guard lock(mutex_);
    what = {name_.sends ? "partitioned send" : "partitioned receive", start_, node_.rank(), name_.peer, cut_.bytes()};
  }
  Status waited = comm::wait_until(
      [&] {
        const std::lock_guard lock(mutex_);
        const auto over = is_over();
        return !over.ok() || *over;
      },
      &group, what);
  const std::lock_guard lock(mutex_);
  const auto over = is_over();
  if (!over) return over.status();
  if (*over) return end_start().status();
  if (waited.code() != Code::timed_out) return waited;
  return Status(Code::timed_out,
                fmt::format("a message did not arrive within {:g} s: {}",
                            std::chrono::duration<double>(group.limit()).count(), missing()),
                about(), "Make every partition ready, and start the other end too; SENNIT_TIMEOUT allows more time");
}

Status PartitionedEnd::may_close() const {
  const std::lock_guard lock(mutex_);
  if (!active_ || !state().ok()) return {};
  return Status(Code::invalid_argument, fmt::format("start {} is not over", start_), about(),
                "Wait for it first; where it cannot end, abort the communicator (sennit_comm_abort)");
}

void PartitionedEnd::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  let_go();
}

}  // namespace sennit::path
