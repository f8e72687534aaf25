#include <atomic>

#include <fmt/format.h>

#include "base/other_processes.h"
#include "path/partitioned.h"

namespace sennit::path {

using Found = Proxy::Client::Found;

PartitionedSend::~PartitionedSend() {
  if (file_ != 0) node_.group().withdraw(file_);
}

void PartitionedSend::tell(comm::Writer& writer) const {
  writer.number(file_);
}

Found PartitionedSend::connect(const OtherEnd& other) {
  Status status;
  if (cut_.bytes() != 0) {
    const Offered& there = other.memory;
    if (!fetch_) {
      std::vector<std::uint64_t> numbers;
      for (const FileDescription& file : there.files) numbers.push_back(file.number);
      fetch_.emplace(node_.group(), name_.peer, std::move(numbers));
    }
    auto files = fetch_->poll();
    if (!files) return Found::pending;
    status = files->status();
    if (status.ok()) status = there.reached_by(node_.executor(), node_.device());
    if (status.ok()) {
      device::Shareable& memory = other_->memory.memory;
      for (std::size_t i = 0; i < there.files.size(); ++i)
        memory.files.push_back({std::move((**files)[i]), there.files[i].bytes});
      auto mapping = mappings_.map(name_.peer, memory, node_.device());
      memory.files.clear();  // a mapping needs them no more
      status = mapping.status();
      if (mapping.ok()) mapping_ = std::move(*mapping);
      if (mapping_ != nullptr) to_ = mapping_->base + memory.offset;
    }
  }
  if (!status.ok())
    fail(Status(Code::unsupported, fmt::format("rank {}'s memory cannot be mapped: {}", name_.peer, status.what()),
                about(), status.remedy()));
  connected_ = true;
  tell_others();
  words_.header().mapping.store(status.ok() ? PartitionedHeader::kMapped : PartitionedHeader::kFailed,
                                std::memory_order_release);
  (void)move_on();
  return Found::work;
}

bool PartitionedSend::other_is_freed() const {
  return words_.header().receiver_freed.load(std::memory_order_acquire) != 0;
}

bool PartitionedSend::may_move() const {
  const PartitionedHeader& header = words_.header();
  if (header.mapping.load(std::memory_order_relaxed) != PartitionedHeader::kMapped ||
      header.started.load(std::memory_order_acquire) != start_)
    return false;
  heard_others();
  return true;
}

Found PartitionedSend::move_on() {
  PartitionedHeader& header = words_.header();
  if (other_is_freed() && header.mapping.load(std::memory_order_relaxed) == PartitionedHeader::kMapped) {
    mapping_.reset();
    header.mapping.store(PartitionedHeader::kUnmapped, std::memory_order_release);
  }
  if (waiting_.empty() || !state().ok() || !may_move()) return Found::nothing;
  const auto before = waiting_.size();
  std::erase_if(waiting_, [this](const Waiting& one) {
    if (one.by_stream && std::atomic_ref(*words_.ready(one.range.begin)).load(std::memory_order_acquire) != start_)
      return false;
    move(one.range, lane_);
    return true;
  });
  if (waiting_.size() != before) return Found::work;
  return Found::pending;  // the stream has not come to it
}

void PartitionedSend::move(PartitionRange range, device::Lane& lane) {
  const std::uint64_t offset = range.begin * cut_.bytes_each;
  auto status =
      cut_.bytes() == 0 ? Status() : lane.copy(to_ + offset, data_ + offset, range.count() * cut_.bytes_each);
  for (std::uint32_t partition = range.begin; status.ok() && partition < range.end; ++partition)
    status = lane.signal(words_.arrived(partition), start_);
  if (status.ok()) return;
  // What was enqueued cannot be taken back, and the receiver would wait.
  fail(status);
  node_.group().abort(std::move(status).in(about()));
}

Status PartitionedSend::claim(std::span<const PartitionRange> ranges) {
  Status bad;
  if (!active_)
    bad = Status(Code::invalid_argument, fmt::format("a partition is ready before start {}", start_ + 1), about(),
                 "Start the message first (sennit_partitioned_start)");
  std::uint32_t claimed = 0;
  const auto undo = [&] {
    for (const PartitionRange& range : ranges)
      for (std::uint32_t partition = range.begin; partition < range.end && claimed > 0; ++partition, --claimed)
        claimed_[partition] = start_ - 1;
  };
  for (const PartitionRange& range : ranges) {
    if (!bad.ok()) break;
    if (range.begin >= range.end || range.end > cut_.partitions)
      bad = Status(
          Code::invalid_argument,
          fmt::format("partitions {} to {} are ready in start {}", range.begin, std::int64_t(range.end) - 1, start_),
          about(), fmt::format("Partitions are 0 to {}", cut_.partitions - 1));
    for (std::uint32_t partition = range.begin; bad.ok() && partition < range.end; ++partition) {
      if (claimed_[partition] == start_)
        bad =
            Status(Code::invalid_argument, fmt::format("partition {} is ready twice in start {}", partition, start_),
                   about(), "Make each partition ready once");
      else
        claimed_[partition] = start_, ++claimed;
    }
  }
  if (bad.ok()) {
    unclaimed_ -= claimed;
    return {};
  }
  undo();
  if (misuse_.ok()) misuse_ = bad;
  return bad;
}

Status PartitionedSend::ready(std::span<const PartitionRange> ranges, device::Lane* stream) {
  const std::lock_guard lock(mutex_);
  if (auto status = state(); !status) return status;
  if (stream != nullptr && stream->capturing())
    return Status(Code::unsupported, "a graph is being captured, whose replays would all be of this start", about(),
                  "Make partitions ready outside of captures");
  if (auto status = claim(ranges); !status) return status;
  if (connected_) (void)move_on();
  for (const PartitionRange& range : ranges) {
    if (may_move()) {
      move(range, stream != nullptr ? *stream : lane_);
      continue;
    }
    if (stream != nullptr)
      if (auto status = stream->signal(words_.ready(range.begin), start_); !status) {
        fail(status);
        node_.group().abort(status);
        return status;
      }
    waiting_.push_back({range, stream != nullptr});
  }
  return failure_;
}

std::string PartitionedSend::missing() const {
  constexpr std::uint32_t kNamed = 8;
  std::string names;
  std::uint32_t named = 0;
  for (std::uint32_t partition = 0; partition < cut_.partitions && named < kNamed; ++partition)
    if (claimed_[partition] != start_) names += fmt::format("{}{}", named++ == 0 ? "" : ", ", partition);
  std::string said;
  if (unclaimed_ > 0)
    said = fmt::format("partition {}{} was not made ready", names,
                       unclaimed_ > named ? fmt::format(" and {} more", unclaimed_ - named) : "");
  else if (!connected_)
    said = fmt::format("rank {} has made no end that receives it", name_.peer);
  else if (!may_move())
    said = fmt::format("rank {} has not started its end", name_.peer);
  else
    said = "the copies are not done";
  return misuse_.ok() ? said : fmt::format("{}, and {}", said, misuse_.what());
}

void PartitionedSend::let_go() {
  if (node_.group().failed()) {
    (void)lane_.synchronize();  // whose copies nobody has waited for
    mapping_.reset();
    return;  // the peer hears of the failure, which is the news
  }
  mapping_.reset();
  tell_others();
  words_.header().mapping.store(PartitionedHeader::kUnmapped, std::memory_order_release);
  words_.header().sender_freed.store(1, std::memory_order_release);
}

}  // namespace sennit::path
