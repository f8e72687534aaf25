#include <fmt/format.h>

#include "base/other_processes.h"
#include "comm/wait.h"
#include "device/launch.h"
#include "path/await_arrivals.h"
#include "path/partitioned.h"

namespace sennit::path {

using Found = Proxy::Client::Found;

void PartitionedReceive::tell(comm::Writer& writer) const {
  offer_.write(writer);
}

Found PartitionedReceive::connect(const OtherEnd& other) {
  if (!fetch_) fetch_.emplace(node_.group(), name_.peer, std::vector{other.words});
  auto files = fetch_->poll();
  if (!files) return Found::pending;
  auto words = files->ok() ? PartitionedWords::open(node_.executor(), other.cut.partitions, (**files)[0].get())
                           : Result<PartitionedWords>(files->status());
  if (!words) {
    fail(words.status());
    return Found::work;
  }
  words_ = std::move(*words);
  connected_ = true;
  if (active_) begin();
  return Found::work;
}

void PartitionedReceive::begin() {
  if (!connected_) return;  // connect() does it
  tell_others();
  words_.header().started.store(start_, std::memory_order_release);
  ring();
}

Found PartitionedReceive::move_on() {
  if (words_.header().mapping.load(std::memory_order_acquire) == PartitionedHeader::kFailed)
    fail(Status(Code::unsupported, fmt::format("rank {} cannot map this rank's memory", name_.peer), about(),
                "The error of that rank says why"));
  return Found::nothing;
}

bool PartitionedReceive::other_is_freed() const {
  return words_.header().sender_freed.load(std::memory_order_acquire) != 0;
}

Status PartitionedReceive::check(PartitionRange range) const {
  if (range.begin < range.end && range.end <= cut_.partitions) return {};
  return Status(Code::invalid_argument,
                fmt::format("there are no partitions {} to {}", range.begin, std::int64_t(range.end) - 1), about(),
                fmt::format("Partitions are 0 to {}", cut_.partitions - 1));
}

Result<bool> PartitionedReceive::arrived(PartitionRange range) {
  const std::lock_guard lock(mutex_);
  if (auto status = check(range); !status) return status;
  if (connected_) (void)move_on();
  if (!failure_.ok()) return failure_;
  if (start_ == 0) return true;
  if (connected_ && have_arrived(covering(range, cut_, other_->cut))) return true;
  if (node_.group().failed()) return node_.group().check();
  return false;
}

Status PartitionedReceive::enqueue_await(PartitionRange range, device::Lane& lane) {
  comm::Waiting what;
  {
    const std::lock_guard lock(mutex_);
    if (auto status = check(range); !status) return status;
    if (start_ == 0)
      return Status(Code::invalid_argument, "the message was not started", about(),
                    "Start it first (sennit_partitioned_start)");
    if (lane.capturing())
      return Status(Code::unsupported, "a graph is being captured, whose replays would all be of this start", about(),
                    "Await partitions outside of captures");
    what = {"partitioned receive", start_, node_.rank(), name_.peer, cut_.bytes()};
  }
  // A kernel that waited while the peer's memory is being mapped might keep the driver from it.
  const auto is_mapped = [&] {
    const std::lock_guard lock(mutex_);
    if (connected_) (void)move_on();
    return !failure_.ok() ||
           (connected_ && words_.header().mapping.load(std::memory_order_acquire) != PartitionedHeader::kUnknown);
  };
  if (auto status = comm::wait_until(is_mapped, &node_.group(), what); !status) return status;
  const std::lock_guard lock(mutex_);
  if (auto status = state(); !status) return status;
  const PartitionRange theirs = covering(range, cut_, other_->cut);
  return device::launch(lane, AwaitArrivals{words_.arrived(theirs.begin), theirs.count(), start_, name_.peer}, 1,
                        AwaitArrivals::kThreads);
}

std::string PartitionedReceive::missing() const {
  if (!connected_) return fmt::format("rank {} has made no end that sends it", name_.peer);
  return fmt::format("partition {} of the sender's {} has not come", arrived_, other_->cut.partitions);
}

void PartitionedReceive::let_go() {
  if (!words_ || node_.group().failed()) return;  // the peer hears of the failure, which is the news
  tell_others();
  words_.header().receiver_freed.store(1, std::memory_order_release);
  ring();
  // Memory that is freed while another process maps it is undefined with CUDA. Where the other is gone, so is its
  // mapping.
  comm::Waiting what{"free a partitioned receive", start_, node_.rank(), name_.peer, cut_.bytes()};
  const auto is_unmapped = [&] {
    const auto mapping = words_.header().mapping.load(std::memory_order_acquire);
    return mapping == PartitionedHeader::kUnmapped || mapping == PartitionedHeader::kFailed;
  };
  (void)comm::wait_until(is_unmapped, &node_.group(), what);
}

}  // namespace sennit::path
