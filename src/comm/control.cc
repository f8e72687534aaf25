#include "comm/control.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "base/units.h"
#include "comm/socket.h"

namespace sennit::comm {

namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;
constexpr std::size_t kNameWords = 5;

}  // namespace

// A sequence lock: `version` is odd while a writer is at it. Words are atomic because readers do look meanwhile.
struct alignas(128) ControlSegment::Record {
  std::atomic<std::uint64_t> version;
  std::atomic<std::uint64_t> sequence;
  std::atomic<std::uint64_t> bytes;
  std::atomic<std::int64_t> peer;
  std::array<std::atomic<std::uint64_t>, kNameWords> name;
};

namespace {

// Records of all ranks come first, then the slots of rank 0, of rank 1, …
constexpr std::size_t kRecordBytes = 128;
std::size_t segment_bytes(int ranks) {
  return (std::size_t(ranks) * (kRecordBytes + sizeof(RankSlots)) + 4095) & ~std::size_t(4095);
}

}  // namespace

Result<ControlSegment> ControlSegment::make(int ranks) {
  if (ranks > RankSlots::kMostRanks)
    return Status(Code::unsupported,
                  fmt::format("{} ranks on one node, at most {} can be", ranks, RankSlots::kMostRanks), {},
                  "Use fewer ranks a node");
  UniqueFd file(::memfd_create("sennit-control", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) return system_status("make shared memory", errno, "Check that the sandbox allows memfd_create(2)");
  const std::size_t bytes = segment_bytes(ranks);
  if (::ftruncate(file.get(), off_t(bytes)) != 0 || ::fcntl(file.get(), F_ADD_SEALS, kSeals) != 0)
    return system_status(fmt::format("make {} of shared memory", format_bytes(bytes)), errno,
                         "Check the memory limit of the container");
  return open(std::move(file), ranks);
}

Result<ControlSegment> ControlSegment::open(UniqueFd file, int ranks) {
  struct stat info {};
  const std::size_t bytes = segment_bytes(ranks);
  if (::fstat(file.get(), &info) != 0 || std::size_t(info.st_size) != bytes ||
      (::fcntl(file.get(), F_GET_SEALS) & kSeals) != kSeals)
    return Status(Code::corrupt, "the control segment of the node's leader is not what it should be", {},
                  "Run the same version of sennit on every rank");
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (data == MAP_FAILED)
    return system_status(fmt::format("map {} of shared memory", format_bytes(bytes)), errno,
                         "Check the address space limit (ulimit -v)");
  ControlSegment segment;
  segment.data_ = data;
  segment.bytes_ = bytes;
  segment.ranks_ = ranks;
  segment.file_ = std::move(file);
  return segment;
}

ControlSegment::ControlSegment(ControlSegment&& other) noexcept {
  *this = std::move(other);
}

ControlSegment& ControlSegment::operator=(ControlSegment&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(ranks_, other.ranks_);
  std::swap(file_, other.file_);
  return *this;
}

ControlSegment::~ControlSegment() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

RankSlots& ControlSegment::slots(int member) const {
  if (member < 0 || member >= ranks_) std::abort();  // a bug in the caller
  auto* slots = reinterpret_cast<RankSlots*>(static_cast<std::byte*>(data_) + std::size_t(ranks_) * kRecordBytes);
  return slots[member];
}

ControlSegment::Record& ControlSegment::record(int member) const {
  static_assert(sizeof(Record) == kRecordBytes);
  if (member < 0 || member >= ranks_) std::abort();  // a bug in the caller
  return static_cast<Record*>(data_)[member];
}

void ControlSegment::note(int member, std::string_view name, std::uint64_t sequence, int peer,
                          std::uint64_t bytes) const {
  Record& r = record(member);
  std::uint64_t version = r.version.load(std::memory_order_relaxed);
  if ((version & 1) != 0 || !r.version.compare_exchange_strong(version, version + 1, std::memory_order_acquire))
    return;
  // Release on each word: whoever sees a new word also sees the odd version before it.
  constexpr auto order = std::memory_order_release;
  std::array<std::uint64_t, kNameWords> packed{};
  std::memcpy(packed.data(), name.data(), std::min(name.size(), sizeof packed - 1));
  for (std::size_t i = 0; i < kNameWords; ++i) r.name[i].store(packed[i], order);
  r.sequence.store(sequence, order);
  r.peer.store(peer, order);
  r.bytes.store(bytes, order);
  r.version.store(version + 2, order);
}

Operation ControlSegment::last(int member) const {
  const Record& r = record(member);
  constexpr auto order = std::memory_order_acquire;
  for (int tries = 0; tries < 1000; ++tries) {
    const std::uint64_t before = r.version.load(order);
    if (before == 0) return {};
    std::array<std::uint64_t, kNameWords> packed{};
    for (std::size_t i = 0; i < kNameWords; ++i) packed[i] = r.name[i].load(order);
    Operation operation{{}, r.sequence.load(order), int(r.peer.load(order)), r.bytes.load(order)};
    if ((before & 1) != 0 || r.version.load(order) != before) continue;
    const char* text = reinterpret_cast<const char*>(packed.data());
    operation.name.assign(text, ::strnlen(text, sizeof packed));
    return operation;
  }
  return {};
}

}  // namespace sennit::comm
