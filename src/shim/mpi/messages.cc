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
/// latest announcement's; kBytes, kEnvelope, kMembers, kStep: of that one. kAsk: the number of one whose receiver
/// asks for a copy in host memory; kOffer: 1 + the number of that copy's file in comm::Group.
constexpr std::size_t kEnd = 0, kAsk = 1, kOffer = 2, kUse = 3, kBytes = 4, kEnvelope = 5, kMembers = 6, kStep = 7;

/// In kOffer: there can be none.
constexpr std::uint64_t kNoCopy = ~std::uint64_t{0};

/// How long a sender may take to hear what is wished of it: a default. One that waits looks several times in it; one
/// that computes costs the receiver so much, a tenth of the copy itself where that is long (at 400 GB/s), and not
/// each time.
constexpr std::chrono::nanoseconds kHearing{10'000};
constexpr std::uint64_t kBytesANanosecond = 4000;
/// A default: who waits for many messages looks at each, at tens of ns.
constexpr unsigned kLooksAtClock = 16;
/// One that looks at many messages hears in the second of its looks, however long they take.
constexpr std::uint64_t kLooks = 3;
/// So many messages of a sender that did not hear, or refused, are copied by their receiver without asking it: of one
/// that did not hear once, only until it looks again, since of long messages both ways those that are pulled among
/// others that are pushed make all take half as long again (16 MiB: 70 instead of 50 µs, 2 × H100). Defaults.
constexpr int kDeaf = 16, kUnable = 1024, kTimes = 2;

device::Word& end_word(comm::Slot& slot) {
  static_assert(std::endian::native == std::endian::little);
  return reinterpret_cast<device::Word&>(slot.words[kEnd]);
}

/// All of a file; null data where that fails.
device::Memory map_all(int file, std::uint64_t bytes) {
  void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (data == MAP_FAILED) return {};
  return device::Memory(data, bytes, [bytes](void* at) { munmap(at, bytes); });
}

}  // namespace

Messages::Messages(comm::Group& group, std::array<std::uint64_t, 2> job, Gpus& gpus, Loans& loans,
                   LookAlikes& look_alikes, Pushes::MakeExecutor make_executor)
    : group_(group),
      job_(job),
      gpus_(gpus),
      loans_(loans),
      look_alikes_(look_alikes),
      pushes_(group, gpus.executor(), loans, std::move(make_executor)) {}

comm::Slot& Messages::slot_of(int sender, int slot) const {
  return group_.slots(sender).announcements[static_cast<std::size_t>(slot)];
}

void Messages::look_at_all() {
  progress_of(group_.rank()).passes.fetch_add(1, std::memory_order_relaxed);
  progress_of(group_.rank()).alive.fetch_add(1, std::memory_order_relaxed);
}

template <class Visit>
void Messages::visit_alike(int sender, const Looks& looks, const Visit& visit) const {
  for (int number = Announcement::group_of(static_cast<int>(looks.step)); number < Announcement::kSlots;
       number += Announcement::kGroups) {
    comm::Slot& slot = slot_of(sender, number);
    const auto use = static_cast<device::Word>(slot.words[kUse].load(std::memory_order_acquire));
    const auto holds = [&](std::size_t word, std::uint64_t value) {
      return slot.words[word].load(std::memory_order_acquire) == value;
    };
    if (!holds(kEnvelope, looks.dest_and_tag) || !holds(kMembers, looks.members) || !holds(kStep, looks.step))
      continue;
    // Where those words are of a use that was not told yet, this one has ended.
    if (device::reached(std::atomic_ref(end_word(slot)).load(std::memory_order_relaxed), use)) continue;
    if (visit(Seen::One{number, use}, slot.words[kBytes].load(std::memory_order_relaxed))) return;
  }
}

std::optional<std::uint64_t> Messages::announced(int sender, int tag, std::uint64_t members, std::uint64_t bytes,
                                                 bool taken) {
  const auto step = Announcement::step_of(bytes);
  if (!step || sender < 0 || sender == group_.rank() || !group_.same_node(sender)) return std::nullopt;
  std::optional<std::uint64_t> announced;
  const std::lock_guard lock(mutex_);
  Seen& seen = seen_[sender];
  const Looks looks{static_cast<std::uint64_t>(*step), Envelope::dest_and_tag(group_.rank(), tag), members};
  visit_alike(sender, looks, [&](const Seen::One& one, std::uint64_t of_message) {
    if (!seen.is_left(one)) return false;
    if (taken) seen.take(one);
    announced = of_message;
    return true;
  });
  return announced;
}

void Messages::note_received(const Announcement& card, bool matched) {
  const auto alike = [&](const auto& visit) {
    const auto& words = slot_of(card).words;
    const Looks looks{words[kStep].load(std::memory_order_relaxed), words[kEnvelope].load(std::memory_order_relaxed),
                      words[kMembers].load(std::memory_order_relaxed)};
    visit_alike(card.sender, looks, [&](const Seen::One& one, std::uint64_t) { return visit(one); });
  };
  seen_[card.sender].receive({card.slot, card.use}, matched, alike);
}

std::unique_ptr<Messages::Outgoing> Messages::announce(const void* data, std::uint64_t bytes, const Envelope& to,
                                                       bool settled, bool synchronous) {
  const auto loan = loans_.lend_by_name(data, bytes);
  if (!loan || loan->device < 0) return nullptr;
  const std::lock_guard lock(mutex_);
  if (!left_.empty()) sweep();
  const auto taken = slots_.take(bytes, to, look_alikes_.doubtful(to.dest, to.tag));
  if (!taken) return nullptr;
  std::unique_ptr<Outgoing> outgoing(new Outgoing(*this));
  outgoing->data_ = data;
  outgoing->to_ = to;
  outgoing->time_ = look_alikes_.now();
  outgoing->device_ = loan->device;
  outgoing->stays_ = synchronous;
  Announcement& card = outgoing->announcement_;
  card.job[0] = job_[0];
  card.job[1] = job_[1];
  card.number = ++numbers_;
  card.bytes = bytes;
  card.sender = group_.rank();
  card.slot = taken->slot;
  card.step = taken->step;
  card.use = ++uses_[static_cast<std::size_t>(taken->slot)];
  comm::Slot& slot = slot_of(card);
  slot.words[kOffer].store(0, std::memory_order_relaxed);
  // Who finds one of these words finds the end of the slot's message before.
  slot.words[kBytes].store(bytes, std::memory_order_release);
  slot.words[kEnvelope].store(to.dest_and_tag(), std::memory_order_release);
  slot.words[kMembers].store(to.members, std::memory_order_release);
  slot.words[kStep].store(static_cast<std::uint64_t>(taken->step), std::memory_order_release);
  slot.words[kUse].store(card.use, std::memory_order_release);
  card.memory = loan->name;
  const auto& uuid = gpus_.executor().devices()[static_cast<std::size_t>(loan->device)].uuid;
  std::strncpy(card.device, uuid.c_str(), sizeof card.device - 1);
  card.settled = settled;
  auto& sent = cards_[static_cast<std::size_t>(taken->slot)];
  sent.resize(static_cast<std::size_t>(card.length()));
  std::memcpy(sent.data(), &card, sizeof card);
  outgoing->sent_ = sent.data();
  return outgoing;
}

Messages::Outgoing::~Outgoing() {
  const Left message{announcement_, to_, time_, offered_};
  const std::lock_guard lock(messages_.mutex_);
  if (left_) {
    messages_.left_.push_back(message);
  } else if (ended()) {
    messages_.forget(message);
  } else {
    if (offered_ != 0) messages_.group_.withdraw(offered_ - 1);
    // A receiver that has not answered may still do so: the slot is then lost rather than given to another message.
    messages_.slot_of(announcement_).words[kEnvelope].store(Envelope::kToNobody, std::memory_order_relaxed);
    messages_.slots_.lose(announcement_.slot);
  }
}

void Messages::forget(const Left& one) {
  if (one.offered != 0) group_.withdraw(one.offered - 1);
  look_alikes_.taken(one.to, one.time);
  slots_.give_back(one.announcement.slot);
}

void Messages::sweep() {
  std::erase_if(left_, [this](const Left& one) {
    const bool over = has_ended(one.announcement);
    if (over) forget(one);
    return over;
  });
}

bool Messages::has_ended(const Announcement& announcement) const {
  const device::Word ended = std::atomic_ref(end_word(slot_of(announcement))).load(std::memory_order_acquire);
  return device::reached(ended, announcement.use);
}

bool Messages::Outgoing::ended() const {
  return messages_.has_ended(announcement_);
}

void Messages::Outgoing::is_waited_for() {
  if (announcement_.bytes > kMostLeft || under_way_.copy != nullptr || offered_ != 0 || stays_) return;
  if (looks_++ % kLooksAtClock != 0) return;
  const auto now = std::chrono::steady_clock::now();
  if (!waited_since_) waited_since_ = now;
  if (now - *waited_since_ > kWaits) leave();
}

void Messages::Outgoing::leave() {
  stays_ = true;
  if (auto status = copy_to_file(); !status)
    return log(LogLevel::info, fmt::format("a message waits for its receiver: {}", status.text()));
  left_ = messages_.wish_of(announcement_).leave(announcement_.number);
  if (left_) {
    messages_.slot_of(announcement_).words[kOffer].store(offered_, std::memory_order_release);
  } else {
    messages_.group_.withdraw(offered_ - 1);
    offered_ = 0;
  }
}

Result<bool> Messages::Outgoing::taken() {
  if (left_) return true;
  if (ended()) {
    if (announcement_.bytes >= Pushes::kLeastSeveral)
      if (auto whole = messages_.pushes_.fault(); !whole) return whole;
    return true;
  }
  if (under_way_.copy != nullptr) {
    if (auto status = look(); !status) return status;
    return false;
  }
  hear();
  if (offered_ == 0 &&
      messages_.slot_of(announcement_).words[kAsk].load(std::memory_order_acquire) == announcement_.number) {
    auto status = copy_to_file();
    messages_.slot_of(announcement_).words[kOffer].store(status.ok() ? offered_ : kNoCopy, std::memory_order_release);
    if (!status) return std::move(status).in("lend host memory to a receiver");
  }
  return false;
}

void Messages::Outgoing::hear() {
  Wish wish = messages_.wish_of(announcement_);
  const auto where = wish.hear(announcement_.number);
  if (!where) return;
  messages_.progress_of(announcement_.sender).alive.fetch_add(1, std::memory_order_relaxed);
  const auto held = messages_.gpus_.still_held(data_, device_);
  Result<Pushes::UnderWay> pushed = held;
  if (held.ok())
    pushed = messages_.pushes_.push({data_, device_, announcement_.bytes, to_.dest, *where,
                                     &end_word(messages_.slot_of(announcement_)), announcement_.use});
  if (pushed.ok()) {
    under_way_ = std::move(*pushed);
    return;
  }
  log(LogLevel::info, fmt::format("a message is left to its receiver to copy: {}", pushed.status().text()));
  wish.refuse(announcement_.number);
}

std::string Messages::Outgoing::how() const {
  if (left_)
    return fmt::format("left in host memory: it had waited {} ms for its receiver",
                       std::chrono::milliseconds(kWaits).count());
  if (offered_ != 0) return "by way of host memory: its receiver does not reach it";
  if (under_way_.copy == nullptr) return fmt::format("{}, by its receiver", kPlan);
  return fmt::format("{}, by this GPU{}", kPlan, messages_.pushes_.how(under_way_, announcement_.bytes));
}

Status Messages::Outgoing::look() const {
  auto status = under_way_.copy->look();
  if (!status) messages_.group_.abort(status);  // the receiver waits for what will never be told
  return status;
}

Status Messages::Outgoing::copy_to_file() {
  const std::uint64_t bytes = announcement_.bytes;
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

void Messages::tell(const Announcement& announcement) const {
  std::atomic_ref(end_word(slot_of(announcement))).store(announcement.use, std::memory_order_release);
}

// ---- the sender's GPU copies --------------------------------------------------------------------------------------

bool Messages::is_deaf(const Announcement& card) {
  Deaf& deaf = deaf_[card.sender];
  const bool looks_again = progress_of(card.sender).passes.load(std::memory_order_relaxed) != deaf.looks;
  if (card.bytes > kMostTogether && deaf.times < kTimes && looks_again) deaf.left = 0;
  if (deaf.left == 0) return false;
  --deaf.left;
  return true;
}

bool Messages::wish(Incoming& incoming) {
  const Announcement& card = incoming.announcement_;
  if (is_deaf(card)) return false;
  auto loan = loans_.lend_by_name(incoming.to_, card.bytes);
  if (!loan) return false;
  // A long one may also come by way of this process's service.
  if (card.bytes >= Pushes::kLeastSeveral && !pushes_.serves(incoming.device_)) loan->name.address = 0;
  return wish_of(card).open(card.number, loan->name);
}

void Messages::refuse(const Announcement& announcement, bool matched) {
  const std::lock_guard lock(mutex_);
  note_received(announcement, matched);
  tell(announcement);
}

// ---- the receiver's GPU copies ------------------------------------------------------------------------------------

std::unique_ptr<Messages::Incoming> Messages::bring(const Announcement& announcement, bool matched, void* to,
                                                    int device) {
  if (!announcement.settled) return nullptr;
  Result<Borrowed> lent = Status();
  const auto brought = gpus_.between(to, announcement.bytes, device, [&]() -> const std::byte* {
    lent = loans_.borrow(announcement.sender, announcement.memory, device);
    const bool may = lent.ok() && wish_of(announcement).claim(announcement.number);
    return may ? lent->at(announcement.memory.offset) : nullptr;
  });
  if (brought.ok() && !*brought) return nullptr;
  std::unique_ptr<Incoming> incoming(new Incoming(*this, announcement));
  {
    const std::lock_guard lock(mutex_);
    note_received(announcement, matched);
  }
  tell(announcement);
  incoming->way_ = Incoming::Way::brought;
  incoming->told_ = true;
  incoming->failed_ = brought.status();
  return incoming;
}

std::unique_ptr<Messages::Incoming> Messages::fetch(const Announcement& announcement, bool matched, void* to,
                                                    int device) {
  const std::lock_guard lock(mutex_);
  // Who fetches many has not come to what is wished of it yet: 64 take it longer than others wait.
  if (announcement.bytes > kMostTogether) progress_of(group_.rank()).alive.fetch_add(1, std::memory_order_relaxed);
  note_received(announcement, matched);
  std::unique_ptr<Incoming> incoming(new Incoming(*this, announcement));
  incoming->to_ = to;
  incoming->device_ = device;
  if (device >= 0 && wish(*incoming))
    incoming->way_ = Incoming::Way::wished;
  else
    pull(*incoming);
  return incoming;
}

Status Messages::begin_to_pull(Incoming& incoming) {
  device::Executor& executor = gpus_.executor();
  const Announcement& card = incoming.announcement_;
  const bool to_gpu = incoming.device_ >= 0;
  if (to_gpu)
    if (auto status = gpus_.still_held(incoming.to_, incoming.device_); !status) return status;
  // The GPU at this end copies; where that is host memory, the one at the other.
  const int device = to_gpu ? incoming.device_ : std::max(executor.find(card.device), 0);
  auto lent = loans_.borrow(card.sender, card.memory, device);
  if (!lent) return lent.status();
  const std::byte* const from = lent->at(card.memory.offset);
  if (to_gpu) {
    auto pulled = pushes_.pull({incoming.to_, from, card.bytes, &end_word(slot_of(card)), card.use}, card.sender,
                               device, std::move(lent->mapping));
    if (!pulled) return pulled.status();
    incoming.under_way_ = std::move(*pulled);
    incoming.way_ = Incoming::Way::pulled;
    return {};
  }
  auto& line = lines_[device];
  if (line == nullptr) {
    auto made = path::CopyLine::create(executor, device);
    if (!made) return made.status();
    line = std::move(*made);
  }
  const auto copy = line->copy(incoming.to_, from, card.bytes);
  if (!copy) return copy.status();
  incoming.line_ = line.get();
  incoming.copy_ = *copy;
  incoming.mapping_ = std::move(lent->mapping);
  incoming.way_ = Incoming::Way::copied;
  return {};
}

void Messages::pull(Incoming& incoming) {
  if (!wish_of(incoming.announcement_).claim(incoming.announcement_.number)) {
    incoming.way_ = Incoming::Way::left;
    return;
  }
  const Status begun = begin_to_pull(incoming);
  if (begun.ok()) return;
  incoming.way_ = Incoming::Way::file;
  if (!warned_) log(LogLevel::info, fmt::format("messages come by way of host memory: {}", begun.text()));
  warned_ = true;
  const Announcement& card = incoming.announcement_;
  slot_of(card).words[kAsk].store(card.number, std::memory_order_release);
}

Status Messages::Incoming::fetch_file() {
  const std::uint64_t offered = messages_.slot_of(announcement_).words[kOffer].load(std::memory_order_acquire);
  if (offered == kNoCopy) return Status(Code::out_of_memory, "the sender has no host memory for a copy");
  auto file = messages_.group_.fetch(announcement_.sender, offered - 1);
  if (!file) return file.status();
  const device::Memory mapped = map_all(file->get(), announcement_.bytes);
  if (mapped.data() == nullptr) return Status(Code::out_of_memory, "a message's host memory cannot be mapped");
  if (device_ >= 0)
    if (auto status = messages_.gpus_.still_held(to_, device_); !status) return status;
  return messages_.gpus_.copy(to_, mapped.data(), announcement_.bytes);
}

Result<bool> Messages::Incoming::copied() {
  if (way_ == Way::copied) return line_->done(copy_);
  if (messages_.slot_of(announcement_).words[kOffer].load(std::memory_order_acquire) == 0) return false;
  if (auto status = fetch_file(); !status) return status;
  return true;
}

std::string Messages::Incoming::how() const {
  switch (way_) {
    case Way::wished: return fmt::format("{}, by its sender's GPU", kPlan);
    case Way::pulled:
      return fmt::format("{}, by this GPU{}", kPlan, messages_.pushes_.how(under_way_, announcement_.bytes));
    case Way::brought: return fmt::format("{}, by a block that stays on this GPU", kPlan);
    case Way::copied: return fmt::format("{}, to host memory", kPlan);
    case Way::left: return "from host memory, where its sender had left it";
    case Way::file: break;
  }
  return "by way of host memory: this process does not reach it";
}

Result<bool> Messages::Incoming::heard() {
  if (messages_.has_ended(announcement_)) {
    told_ = true;
    if (announcement_.bytes > kMostTogether) {
      const std::lock_guard lock(messages_.mutex_);
      messages_.deaf_[announcement_.sender].times = 0;
    }
    if (announcement_.bytes >= Pushes::kLeastSeveral)
      if (auto whole = messages_.pushes_.fault(); !whole) return whole;
    return true;
  }
  const auto now = std::chrono::steady_clock::now();
  const std::uint64_t looks = messages_.progress_of(announcement_.sender).passes.load(std::memory_order_relaxed);
  const std::uint64_t alive = messages_.progress_of(announcement_.sender).alive.load(std::memory_order_relaxed);
  if (!until_) looks_at_first_ = looks;
  if (!until_ || alive != alive_)
    until_ = now + kHearing + std::chrono::nanoseconds(announcement_.bytes / kBytesANanosecond);
  alive_ = alive;
  Wish wish = messages_.wish_of(announcement_);
  const bool late = wish.is_open(announcement_.number) && (now > *until_ || looks - looks_at_first_ >= kLooks);
  if (!wish.is_refused(announcement_.number) && (!late || !wish.withdraw(announcement_.number))) return true;
  const std::lock_guard lock(messages_.mutex_);
  Deaf& deaf = messages_.deaf_[announcement_.sender];
  const int more = announcement_.bytes > kMostTogether ? 1 : 0;
  deaf = late ? Deaf{deaf.times + more, kDeaf, looks} : Deaf{kTimes, kUnable, looks};
  return false;
}

Result<bool> Messages::Incoming::done() {
  if (!failed_.ok()) return failed_;
  if (told_) return true;
  if (way_ == Way::wished) {
    auto heard = this->heard();
    if (!heard) return heard;
    if (*heard) return told_;
    const std::lock_guard lock(messages_.mutex_);
    messages_.pull(*this);
  }
  if (way_ == Way::pulled) {
    told_ = messages_.has_ended(announcement_);
    if (told_) return true;
    if (auto status = under_way_.copy->look(); !status) {
      messages_.tell(announcement_);  // or its sender would wait for what never comes
      return failed_ = status;
    }
    return false;
  }
  auto done = copied();
  if (done.ok() && !*done) return false;
  messages_.tell(announcement_);
  told_ = true;
  return done;
}

}  // namespace sennit::shim::mpi
