#include "shim/mpi/messages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "base/units.h"

namespace sennit::shim::mpi {

namespace {

/// Words of a slot. kEnd: how many of its announcements have ended, a half word, since lanes write such; kUse: the
/// latest announcement's; kBytes, kEnvelope: of that one. kAsk: the number of one whose receiver asks for a copy in
/// host memory; kOffer: 1 + the number of that copy's file in comm::Group.
constexpr std::size_t kEnd = 0, kAsk = 1, kOffer = 2, kUse = 3, kBytes = 4, kEnvelope = 5;

/// In kOffer: there can be none.
constexpr std::uint64_t kNoCopy = ~std::uint64_t{0};

/// How long a sender may take to hear what is wished of it: a default. One that waits looks several times in it; one
/// that computes costs the receiver so much, a tenth of the copy itself where that is long (at 400 GB/s), and not
/// each time.
constexpr std::chrono::nanoseconds kHearing{10'000};
constexpr std::uint64_t kBytesANanosecond = 4000;
/// Messages below never take several paths: a default that spares them the set-up. Tables have them from 16 MiB on
/// (2 and 4 × H200).
constexpr std::uint64_t kLeastSeveral = 8 * MiB;
/// The window that peers' services know messages by; a place in it is an address.
constexpr std::uint32_t kMessagesWindow = 0;

/// So many messages of a sender that did not hear are copied by their receiver without asking it. A default.
constexpr int kDeaf = 16;

device::Word& end_word(comm::Slot& slot) {
  static_assert(std::endian::native == std::endian::little);
  return reinterpret_cast<device::Word&>(slot.words[kEnd]);
}

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
  return group_.control().slot(group_.node_index(sender), Announcement::kFirstSlot + slot);
}

std::uint64_t Messages::probed(int sender, int tag, std::uint64_t bytes) const {
  constexpr auto first = static_cast<std::uint64_t>(Announcement::length_of(0));
  constexpr auto kStep = static_cast<std::uint64_t>(Announcement::length_of(1) - Announcement::length_of(0));
  if (bytes < first || bytes > kLongestAnnouncement || (bytes - first) % kStep != 0) return bytes;
  if (sender < 0 || sender == group_.rank() || !group_.same_node(sender)) return bytes;
  comm::Slot& slot = slot_of(sender, static_cast<int>((bytes - first) / kStep));
  const auto use = static_cast<device::Word>(slot.words[kUse].load(std::memory_order_acquire));
  const bool ours = slot.words[kEnvelope].load(std::memory_order_relaxed) == envelope(group_.rank(), tag);
  const bool under_way = std::atomic_ref(end_word(slot)).load(std::memory_order_relaxed) != use;
  return ours && under_way ? slot.words[kBytes].load(std::memory_order_relaxed) : bytes;
}

std::unique_ptr<Messages::Outgoing> Messages::announce(const void* data, std::uint64_t bytes, int dest, int tag) {
  const auto loan = loans_.lend_by_name(data, bytes);
  if (!loan || loan->device < 0) return nullptr;
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
  outgoing->dest_ = dest;
  outgoing->device_ = loan->device;
  Announcement& card = outgoing->announcement_;
  card.job[0] = job_[0];
  card.job[1] = job_[1];
  card.number = ++numbers_;
  card.bytes = bytes;
  card.sender = group_.rank();
  card.slot = free;
  card.use = ++uses_[static_cast<std::size_t>(free)];
  comm::Slot& slot = slot_of(card);
  slot.words[kOffer].store(0, std::memory_order_relaxed);
  slot.words[kBytes].store(bytes, std::memory_order_relaxed);
  slot.words[kEnvelope].store(envelope(dest, tag), std::memory_order_relaxed);
  slot.words[kUse].store(card.use, std::memory_order_release);
  card.memory = loan->name;
  const auto& uuid = gpus_.executor().devices()[static_cast<std::size_t>(loan->device)].uuid;
  std::strncpy(card.device, uuid.c_str(), sizeof card.device - 1);
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

bool Messages::has_ended(const Announcement& announcement) const {
  const device::Word ended = std::atomic_ref(end_word(slot_of(announcement))).load(std::memory_order_acquire);
  return device::reached(ended, announcement.use);
}

bool Messages::Outgoing::ended() const {
  return messages_.has_ended(announcement_);
}

Result<bool> Messages::Outgoing::taken() {
  if (ended()) return true;
  if (Wish wish = messages_.wish_of(announcement_); const auto where = wish.hear(announcement_.number)) {
    if (const auto pushed = messages_.push(*this, *where); !pushed) {
      log(LogLevel::info, fmt::format("a message is left to its receiver to copy: {}", pushed.text()));
      wish.refuse(announcement_.number);
    }
    return false;
  }
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
  std::atomic_ref(end_word(slot_of(announcement))).store(announcement.use, std::memory_order_release);
}

// ---- the sender's GPU copies --------------------------------------------------------------------------------------

Result<device::Lane*> Messages::lane_of(int device) {
  if (!reachable_) {
    auto pinned = gpus_.executor().pin(group_.control().data(), group_.control().bytes());
    reachable_ = pinned.status();
    if (pinned.ok()) pinned_ = std::move(*pinned);
  }
  if (!reachable_->ok()) return *reachable_;
  auto& lane = pushes_[device];
  if (lane == nullptr) {
    auto made = gpus_.executor().lane(device);
    if (!made) return made.status();
    lane = std::move(*made);
  }
  return lane.get();
}

path::Transport* Messages::transport(int device) {
  if (std::exchange(transport_tried_, true)) return transport_.get();
  device::Executor& executor = gpus_.executor();
  auto basis = path::find_basis(executor, std::nullopt);
  const auto options = basis.ok() ? path::mover_options(basis->tuned != nullptr, false) : basis.status();
  if (options.ok() && options->single) return nullptr;
  auto made = options.ok()
                  ? path::Transport::create(gpus_.shared_executor(), group_, device, std::move(*basis), false,
                                            [this](std::uint32_t window, std::uint64_t address, std::uint64_t bytes) {
                                              return resolve(window, address, bytes);
                                            })
                  : Result<std::unique_ptr<path::Transport>>(options.status());
  if (made.ok())
    transport_ = std::move(*made);
  else
    log(LogLevel::warning, fmt::format("messages take the direct path alone: {}", made.status().text()));
  return transport_.get();
}

Result<std::byte*> Messages::resolve(std::uint32_t window, std::uint64_t address, std::uint64_t bytes) {
  auto* const data = reinterpret_cast<std::byte*>(address);
  if (window == kMessagesWindow && loans_.is_lent(data, bytes)) return data;
  return Status(Code::not_found, "a peer's message goes to memory that is not lent");
}

Status Messages::push(const Outgoing& outgoing, const LoanName& where) {
  const Announcement& card = outgoing.announcement_;
  const int device = outgoing.device_;
  auto there = loans_.borrow(outgoing.dest_, where, device);
  if (!there) return there.status();
  path::Transport* several = nullptr;
  device::Lane* lane = nullptr;
  {
    const std::lock_guard lock(mutex_);
    auto found = lane_of(device);
    if (!found) return found.status();
    lane = *found;
    if (card.bytes >= kLeastSeveral) several = transport(device);
  }
  std::byte* const to = there->at(where.offset);
  Status status;
  if (several == nullptr) {
    status = lane->copy(to, outgoing.data_, card.bytes);
  } else {
    path::End end{.data = to, .rank = outgoing.dest_, .window = kMessagesWindow, .offset = where.address};
    // A device that this process does not see still has a number that no lane of ours has.
    end.device = there->device >= 0 ? there->device : static_cast<int>(gpus_.executor().devices().size());
    if (end.device == device) end.at_owner = to;
    status = several->move(end, path::End::local(const_cast<void*>(outgoing.data_), device), card.bytes, *lane);
  }
  if (status.ok()) status = lane->signal(&end_word(slot_of(card)), card.use);
  // Only when nothing is under way any more may the receiver do it itself.
  if (!status.ok())
    if (auto ended = lane->synchronize(); !ended) group_.abort(ended);
  return status;
}

bool Messages::wish(Incoming& incoming) {
  const Announcement& card = incoming.announcement_;
  if (auto& deaf = deaf_[card.sender]; deaf > 0) {
    --deaf;
    return false;
  }
  const auto loan = loans_.lend_by_name(incoming.to_, card.bytes);
  if (!loan) return false;
  // A long one may also come by way of this process's service.
  if (card.bytes >= kLeastSeveral) (void)transport(incoming.device_);
  incoming.until_ =
      std::chrono::steady_clock::now() + kHearing + std::chrono::nanoseconds(card.bytes / kBytesANanosecond);
  wish_of(card).open(card.number, loan->name);
  return true;
}

// ---- the receiver's does ------------------------------------------------------------------------------------------

std::unique_ptr<Messages::Incoming> Messages::fetch(const Announcement& announcement, void* to, int device) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Incoming> incoming(new Incoming(*this, announcement));
  incoming->to_ = to;
  incoming->device_ = device;
  if (device >= 0 && wish(*incoming))
    incoming->way_ = Incoming::Way::wished;
  else
    pull(*incoming);
  return incoming;
}

void Messages::pull(Incoming& incoming) {
  device::Executor& executor = gpus_.executor();
  const Announcement& card = incoming.announcement_;
  const auto begin = [&]() -> Status {
    // The GPU at this end copies; where that is host memory, the one at the other.
    const int device = incoming.device_ >= 0 ? incoming.device_ : std::max(executor.find(card.device), 0);
    auto lent = loans_.borrow(card.sender, card.memory, device);
    if (!lent) return lent.status();
    auto& line = lines_[device];
    if (line == nullptr) {
      auto made = path::CopyLine::create(executor, device);
      if (!made) return made.status();
      line = std::move(*made);
    }
    const auto copy = line->copy(incoming.to_, lent->at(card.memory.offset), card.bytes);
    if (!copy) return copy.status();
    incoming.line_ = line.get();
    incoming.copy_ = *copy;
    incoming.mapping_ = std::move(lent->mapping);
    return {};
  };
  const Status begun = begin();
  incoming.way_ = begun.ok() ? Incoming::Way::copied : Incoming::Way::file;
  if (begun.ok()) return;
  if (!warned_) log(LogLevel::info, fmt::format("messages come by way of host memory: {}", begun.text()));
  warned_ = true;
  slot_of(card).words[kAsk].store(card.number, std::memory_order_release);
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

Result<bool> Messages::Incoming::copied() {
  if (way_ == Way::copied) return line_->done(copy_);
  if (messages_.slot_of(announcement_).words[kOffer].load(std::memory_order_acquire) == 0) return false;
  if (auto status = fetch_file(); !status) return status;
  return true;
}

Result<bool> Messages::Incoming::done() {
  if (told_) return true;
  if (way_ == Way::wished) {
    told_ = messages_.has_ended(announcement_);
    if (told_) return true;
    Wish wish = messages_.wish_of(announcement_);
    const bool late = wish.is_open(announcement_.number) && std::chrono::steady_clock::now() > until_;
    if (!wish.is_refused(announcement_.number) && (!late || !wish.withdraw(announcement_.number))) return false;
    const std::lock_guard lock(messages_.mutex_);
    if (late) messages_.deaf_[announcement_.sender] = kDeaf;
    messages_.pull(*this);
  }
  auto done = copied();
  if (done.ok() && !*done) return false;
  messages_.tell(announcement_);
  told_ = true;
  return done;
}

}  // namespace sennit::shim::mpi
