#include "shim/mpi/messages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/log.h"
#include "base/units.h"

namespace sennit::shim::mpi {

namespace {

/// Slots at the end of a rank's row are for messages; communicators count from its beginning.
constexpr int kFirstSlot = comm::ControlSegment::kSlots - Announcement::kSlots;
/// Words of a slot. kEnd and kAsk: the number of the announcement that ended, or whose receiver asks for a copy in
/// host memory; kOffer: 1 + the number of that copy's file in comm::Group. kBytes and kEnvelope: of the announcement.
constexpr std::size_t kEnd = 0, kAsk = 1, kOffer = 2, kNumber = 3, kBytes = 4, kEnvelope = 5;

/// In kOffer: there can be none.
constexpr std::uint64_t kNoCopy = ~std::uint64_t{0};

constexpr std::uint64_t envelope(int dest, int tag) {
  return std::uint64_t(std::uint32_t(dest)) << 32 | std::uint32_t(tag);
}

/// All of a file; null data where that fails.
device::Memory map_all(int file, std::uint64_t bytes) {
  void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (data == MAP_FAILED) return {};
  return device::Memory(data, bytes, [bytes](void* at) { munmap(at, bytes); });
}

}  // namespace

Messages::Messages(comm::Group& group, std::array<std::uint64_t, 2> job, Gpus& gpus, Loans& loans)
    : group_(group), job_(job), gpus_(gpus), loans_(loans) {}

comm::Slot& Messages::slot_of(int sender, int slot) const {
  return group_.control().slot(group_.node_index(sender), kFirstSlot + slot);
}

std::uint64_t Messages::probed(int sender, int tag, std::uint64_t bytes) const {
  constexpr auto first = static_cast<std::uint64_t>(Announcement::length_of(0));
  constexpr auto kStep = static_cast<std::uint64_t>(Announcement::length_of(1) - Announcement::length_of(0));
  if (bytes < first || bytes > kLongestAnnouncement || (bytes - first) % kStep != 0) return bytes;
  if (sender < 0 || sender == group_.rank() || !group_.same_node(sender)) return bytes;
  const comm::Slot& slot = slot_of(sender, static_cast<int>((bytes - first) / kStep));
  const std::uint64_t number = slot.words[kNumber].load(std::memory_order_acquire);
  const bool ours = slot.words[kEnvelope].load(std::memory_order_relaxed) == envelope(group_.rank(), tag);
  const bool under_way = number != 0 && slot.words[kEnd].load(std::memory_order_relaxed) != number;
  return ours && under_way ? slot.words[kBytes].load(std::memory_order_relaxed) : bytes;
}

std::unique_ptr<Messages::Outgoing> Messages::announce(const void* data, std::uint64_t bytes, int dest, int tag) {
  const auto lent = loans_.lend(data, bytes);
  if (!lent) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto lowest = std::ranges::min_element(free_slots_);  // of the shortest announcement
  const bool first_use = lowest == free_slots_.end();
  const int free = first_use ? next_slot_ : *lowest;
  if (free == Announcement::kSlots || static_cast<std::uint64_t>(Announcement::length_of(free)) > bytes)
    return nullptr;
  if (first_use)
    ++next_slot_;
  else
    free_slots_.erase(lowest);
  std::unique_ptr<Outgoing> outgoing(new Outgoing(*this));
  outgoing->data_ = data;
  Announcement& card = outgoing->announcement_;
  card.job[0] = job_[0];
  card.job[1] = job_[1];
  card.number = ++numbers_;
  card.bytes = bytes;
  card.sender = group_.rank();
  card.slot = free;
  comm::Slot& slot = slot_of(card);
  slot.words[kOffer].store(0, std::memory_order_relaxed);
  slot.words[kBytes].store(bytes, std::memory_order_relaxed);
  slot.words[kEnvelope].store(envelope(dest, tag), std::memory_order_relaxed);
  slot.words[kNumber].store(card.number, std::memory_order_release);
  card.memory = *lent;
  outgoing->sent_.resize(static_cast<std::size_t>(card.length()));
  std::memcpy(outgoing->sent_.data(), &card, sizeof card);
  return outgoing;
}

Messages::Outgoing::~Outgoing() {
  if (offered_ != 0) messages_.group_.withdraw(offered_ - 1);
  const std::lock_guard lock(messages_.mutex_);
  // A receiver that has not answered may still do so: the slot is then lost rather than given to another message.
  if (ended()) messages_.free_slots_.push_back(announcement_.slot);
}

bool Messages::Outgoing::ended() const {
  return messages_.slot_of(announcement_).words[kEnd].load(std::memory_order_acquire) == announcement_.number;
}

Result<bool> Messages::Outgoing::taken() {
  if (ended()) return true;
  if (offered_ == 0 &&
      messages_.slot_of(announcement_).words[kAsk].load(std::memory_order_acquire) == announcement_.number)
    if (auto status = copy_to_file(); !status) {
      messages_.slot_of(announcement_).words[kOffer].store(kNoCopy, std::memory_order_release);
      return std::move(status).in("lend host memory to a receiver");
    }
  return false;
}

Status Messages::Outgoing::copy_to_file() {
  const std::uint64_t bytes = announcement_.bytes;
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
  messages_.slot_of(announcement_).words[kOffer].store(offered_, std::memory_order_release);
  return {};
}

void Messages::tell(const Announcement& announcement) const {
  slot_of(announcement).words[kEnd].store(announcement.number, std::memory_order_release);
}

std::unique_ptr<Messages::Incoming> Messages::fetch(const Announcement& announcement, void* to, int device) {
  device::Executor& executor = gpus_.executor();
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Incoming> incoming(new Incoming(*this, announcement));
  incoming->to_ = to;
  const auto begin = [&]() -> Status {
    // The GPU at this end copies; where that is host memory, the one at the other.
    if (device < 0) device = std::max(executor.find(announcement.memory.device), 0);
    auto mapping = loans_.borrow(announcement.sender, announcement.memory, device);
    if (!mapping) return mapping.status();
    auto& line = lines_[device];
    if (line == nullptr) {
      auto made = path::CopyLine::create(executor, device);
      if (!made) return made.status();
      line = std::move(*made);
    }
    const auto copy = line->copy(to, (*mapping)->base + announcement.memory.offset, announcement.bytes);
    if (!copy) return copy.status();
    incoming->line_ = line.get();
    incoming->copy_ = *copy;
    incoming->mapping_ = std::move(*mapping);
    return {};
  };
  if (auto status = begin(); !status) {
    if (!warned_) log(LogLevel::info, fmt::format("messages come by way of host memory: {}", status.text()));
    warned_ = true;
    slot_of(announcement).words[kAsk].store(announcement.number, std::memory_order_release);
  }
  return incoming;
}

Status Messages::Incoming::fetch_file() {
  const std::uint64_t offered = messages_.slot_of(announcement_).words[kOffer].load(std::memory_order_acquire);
  if (offered == kNoCopy) return Status(Code::out_of_memory, "the sender has no host memory for a copy");
  auto file = messages_.group_.fetch(announcement_.sender, offered - 1);
  if (!file) return file.status();
  const device::Memory mapped = map_all(file->get(), announcement_.bytes);
  if (mapped.data() == nullptr) return Status(Code::out_of_memory, "a message's host memory cannot be mapped");
  return messages_.gpus_.copy(to_, mapped.data(), announcement_.bytes);
}

Result<bool> Messages::Incoming::done() {
  if (told_) return true;
  Result<bool> done = true;
  if (mapping_ != nullptr) {
    done = line_->done(copy_);
  } else if (messages_.slot_of(announcement_).words[kOffer].load(std::memory_order_acquire) == 0) {
    done = false;
  } else if (auto status = fetch_file(); !status) {
    done = status;
  }
  if (done.ok() && !*done) return false;
  messages_.tell(announcement_);
  told_ = true;
  return done;
}

}  // namespace sennit::shim::mpi
