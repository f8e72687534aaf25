#include "shim/mpi/p2p/messages.h"

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

/// Words of a slot. kEnd: how many of its RTSs have ended, a half word, since lanes write such; kUse: the
/// latest RTS's; kBytes, kEnvelope, kMembers, kStep: of that one. kAsk: the number of one whose receiver
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
constexpr int kUnresponsive = 16, kUnable = 1024, kTimes = 2;

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

Messages::Messages(comm::Group& group, std::array<std::uint64_t, 2> job, stage::Gpus& gpus, IpcCache& ipc_cache,
                   LookAlikes& look_alikes, CopyScheduler::MakeExecutor make_executor)
    : group_(group),
      job_(job),
      gpus_(gpus),
      ipc_cache_(ipc_cache),
      look_alikes_(look_alikes),
      copies_(group, gpus.executor(), ipc_cache, std::move(make_executor)) {}

comm::Slot& Messages::slot_of(int sender, int slot) const {
  return group_.slots(sender).rts[static_cast<std::size_t>(slot)];
}

void Messages::begin_pass() {
  progress_of(group_.rank()).passes.fetch_add(1, std::memory_order_relaxed);
  progress_of(group_.rank()).alive.fetch_add(1, std::memory_order_relaxed);
}

template <class Visit>
void Messages::visit_alike(int sender, const Looks& looks, const Visit& visit) const {
  for (int number = Rts::group_of(static_cast<int>(looks.step)); number < Rts::kSlots; number += Rts::kGroups) {
    comm::Slot& slot = slot_of(sender, number);
    const auto use = static_cast<device::Word>(slot.words[kUse].load(std::memory_order_acquire));
    const auto holds = [&](std::size_t word, std::uint64_t value) {
      return slot.words[word].load(std::memory_order_acquire) == value;
    };
    if (!holds(kEnvelope, looks.dest_and_tag) || !holds(kMembers, looks.members) || !holds(kStep, looks.step))
      continue;
    // Where those words are of a use that was not told yet, this one has ended.
    if (device::reached(std::atomic_ref(end_word(slot)).load(std::memory_order_relaxed), use)) continue;
    if (visit(RtsTracker::One{number, use}, slot.words[kBytes].load(std::memory_order_relaxed))) return;
  }
}

std::optional<std::uint64_t> Messages::announced(int sender, int tag, std::uint64_t members, std::uint64_t bytes,
                                                 bool taken) {
  const auto step = Rts::step_of(bytes);
  if (!step || sender < 0 || sender == group_.rank() || !group_.same_node(sender)) return std::nullopt;
  std::optional<std::uint64_t> announced;
  const std::lock_guard lock(mutex_);
  RtsTracker& seen = seen_[sender];
  const Looks looks{static_cast<std::uint64_t>(*step), Envelope::dest_and_tag(group_.rank(), tag), members};
  visit_alike(sender, looks, [&](const RtsTracker::One& one, std::uint64_t of_message) {
    if (!seen.is_left(one)) return false;
    if (taken) seen.take(one);
    announced = of_message;
    return true;
  });
  return announced;
}

void Messages::note_received(const Rts& card, bool matched) {
  const auto alike = [&](const auto& visit) {
    const auto& words = slot_of(card).words;
    const Looks looks{words[kStep].load(std::memory_order_relaxed), words[kEnvelope].load(std::memory_order_relaxed),
                      words[kMembers].load(std::memory_order_relaxed)};
    visit_alike(card.sender, looks, [&](const RtsTracker::One& one, std::uint64_t) { return visit(one); });
  };
  seen_[card.sender].receive({card.slot, card.use}, matched, alike);
}

std::unique_ptr<Messages::SendTransfer> Messages::announce(const void* data, std::uint64_t bytes, const Envelope& to,
                                                           bool settled, bool synchronous) {
  const auto loan = ipc_cache_.export_by_key(data, bytes);
  if (!loan || loan->device < 0) return nullptr;
  const std::lock_guard lock(mutex_);
  if (!left_.empty()) sweep();
  const auto taken = slots_.take(bytes, to, look_alikes_.doubtful(to.dest, to.tag));
  if (!taken) return nullptr;
  std::unique_ptr<SendTransfer> outgoing(new SendTransfer(*this));
  outgoing->data_ = data;
  outgoing->to_ = to;
  outgoing->time_ = look_alikes_.now();
  outgoing->device_ = loan->device;
  outgoing->stays_ = synchronous;
  Rts& card = outgoing->rts_;
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
  card.sync_memops = settled;
  auto& sent = cards_[static_cast<std::size_t>(taken->slot)];
  sent.resize(static_cast<std::size_t>(card.length()));
  std::memcpy(sent.data(), &card, sizeof card);
  outgoing->sent_ = sent.data();
  return outgoing;
}

Messages::SendTransfer::~SendTransfer() {
  const Left message{rts_, to_, time_, offered_};
  const std::lock_guard lock(messages_.mutex_);
  if (left_) {
    messages_.left_.push_back(message);
  } else if (ended()) {
    messages_.forget(message);
  } else {
    if (offered_ != 0) messages_.group_.withdraw(offered_ - 1);
    // A receiver that has not answered may still do so: the slot is then lost rather than given to another message.
    messages_.slot_of(rts_).words[kEnvelope].store(Envelope::kToNobody, std::memory_order_relaxed);
    messages_.slots_.lose(rts_.slot);
  }
}

void Messages::forget(const Left& one) {
  if (one.offered != 0) group_.withdraw(one.offered - 1);
  look_alikes_.taken(one.to, one.time);
  slots_.give_back(one.rts.slot);
}

void Messages::sweep() {
  std::erase_if(left_, [this](const Left& one) {
    const bool over = has_ended(one.rts);
    if (over) forget(one);
    return over;
  });
}

bool Messages::has_ended(const Rts& rts) const {
  const device::Word ended = std::atomic_ref(end_word(slot_of(rts))).load(std::memory_order_acquire);
  return device::reached(ended, rts.use);
}

bool Messages::SendTransfer::ended() const {
  return messages_.has_ended(rts_);
}

void Messages::SendTransfer::is_waited_for() {
  if (rts_.bytes > kMostLeft || under_way_.copy != nullptr || offered_ != 0 || stays_) return;
  if (looks_++ % kLooksAtClock != 0) return;
  const auto now = std::chrono::steady_clock::now();
  if (!waited_since_) waited_since_ = now;
  if (now - *waited_since_ > kWaits) leave();
}

void Messages::SendTransfer::leave() {
  stays_ = true;
  if (auto status = copy_to_file(); !status)
    return log(LogLevel::info, fmt::format("a message waits for its receiver: {}", status.text()));
  left_ = messages_.rtr_of(rts_).leave_copy(rts_.number);
  if (left_) {
    messages_.slot_of(rts_).words[kOffer].store(offered_, std::memory_order_release);
  } else {
    messages_.group_.withdraw(offered_ - 1);
    offered_ = 0;
  }
}

Result<bool> Messages::SendTransfer::test() {
  if (left_) return true;
  if (ended()) {
    if (rts_.bytes >= CopyScheduler::kLeastSeveral)
      if (auto whole = messages_.copies_.fault(); !whole) return whole;
    return true;
  }
  if (under_way_.copy != nullptr) {
    if (auto status = look(); !status) return status;
    return false;
  }
  accept_rtr();
  if (offered_ == 0 && messages_.slot_of(rts_).words[kAsk].load(std::memory_order_acquire) == rts_.number) {
    auto status = copy_to_file();
    messages_.slot_of(rts_).words[kOffer].store(status.ok() ? offered_ : kNoCopy, std::memory_order_release);
    if (!status) return std::move(status).in("lend host memory to a receiver");
  }
  return false;
}

void Messages::SendTransfer::accept_rtr() {
  Rtr rtr = messages_.rtr_of(rts_);
  const auto where = rtr.accept(rts_.number);
  if (!where) return;
  messages_.progress_of(rts_.sender).alive.fetch_add(1, std::memory_order_relaxed);
  const auto held = messages_.gpus_.still_held(data_, device_);
  Result<CopyScheduler::UnderWay> pushed = held;
  if (held.ok())
    pushed = messages_.copies_.put(
        {data_, device_, rts_.bytes, to_.dest, *where, &end_word(messages_.slot_of(rts_)), rts_.use});
  if (pushed.ok()) {
    under_way_ = std::move(*pushed);
    return;
  }
  log(LogLevel::info, fmt::format("a message is left to its receiver to copy: {}", pushed.status().text()));
  rtr.reject(rts_.number);
}

std::string Messages::SendTransfer::how() const {
  if (left_)
    return fmt::format("left in host memory: it had waited {} ms for its receiver",
                       std::chrono::milliseconds(kWaits).count());
  if (offered_ != 0) return "by way of host memory: its receiver does not reach it";
  if (under_way_.copy == nullptr) return fmt::format("{}, by its receiver", kPlan);
  return fmt::format("{}, by this GPU{}", kPlan, messages_.copies_.how(under_way_, rts_.bytes));
}

Status Messages::SendTransfer::look() const {
  auto status = under_way_.copy->look();
  if (!status) messages_.group_.abort(status);  // the receiver waits for what will never be told
  return status;
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

void Messages::tell(const Rts& rts) const {
  std::atomic_ref(end_word(slot_of(rts))).store(rts.use, std::memory_order_release);
}

// ---- the sender's GPU copies --------------------------------------------------------------------------------------

bool Messages::is_unresponsive(const Rts& card) {
  Unresponsive& deaf = unresponsive_[card.sender];
  const bool looks_again = progress_of(card.sender).passes.load(std::memory_order_relaxed) != deaf.looks;
  if (card.bytes > kMostTogether && deaf.times < kTimes && looks_again) deaf.left = 0;
  if (deaf.left == 0) return false;
  --deaf.left;
  return true;
}

bool Messages::post_rtr(RecvTransfer& incoming) {
  const Rts& card = incoming.rts_;
  if (is_unresponsive(card)) return false;
  auto loan = ipc_cache_.export_by_key(incoming.to_, card.bytes);
  if (!loan) return false;
  // A long one may also come by way of this process's service.
  if (card.bytes >= CopyScheduler::kLeastSeveral && !copies_.serves(incoming.device_)) loan->name.address = 0;
  return rtr_of(card).post(card.number, loan->name);
}

void Messages::refuse(const Rts& rts, bool matched) {
  const std::lock_guard lock(mutex_);
  note_received(rts, matched);
  tell(rts);
}

// ---- the receiver's GPU copies ------------------------------------------------------------------------------------

std::unique_ptr<Messages::RecvTransfer> Messages::kernel_get(const Rts& rts, bool matched, void* to, int device) {
  if (!rts.sync_memops) return nullptr;
  Result<Imported> lent = Status();
  const auto brought = gpus_.between(to, rts.bytes, device, [&]() -> const std::byte* {
    lent = ipc_cache_.import_memory(rts.sender, rts.memory, device);
    const bool may = lent.ok() && rtr_of(rts).claim(rts.number);
    return may ? lent->at(rts.memory.offset) : nullptr;
  });
  if (brought.ok() && !*brought) return nullptr;
  std::unique_ptr<RecvTransfer> incoming(new RecvTransfer(*this, rts));
  {
    const std::lock_guard lock(mutex_);
    note_received(rts, matched);
  }
  tell(rts);
  incoming->protocol_ = RecvTransfer::Protocol::kernel_get;
  incoming->told_ = true;
  incoming->failed_ = brought.status();
  return incoming;
}

std::unique_ptr<Messages::RecvTransfer> Messages::fetch(const Rts& rts, bool matched, void* to, int device) {
  const std::lock_guard lock(mutex_);
  // Who fetches many has not come to what is wished of it yet: 64 take it longer than others wait.
  if (rts.bytes > kMostTogether) progress_of(group_.rank()).alive.fetch_add(1, std::memory_order_relaxed);
  note_received(rts, matched);
  std::unique_ptr<RecvTransfer> incoming(new RecvTransfer(*this, rts));
  incoming->to_ = to;
  incoming->device_ = device;
  if (device >= 0 && post_rtr(*incoming))
    incoming->protocol_ = RecvTransfer::Protocol::put;
  else
    get(*incoming);
  return incoming;
}

Status Messages::begin_get(RecvTransfer& incoming) {
  device::Executor& executor = gpus_.executor();
  const Rts& card = incoming.rts_;
  const bool to_gpu = incoming.device_ >= 0;
  if (to_gpu)
    if (auto status = gpus_.still_held(incoming.to_, incoming.device_); !status) return status;
  // The GPU at this end copies; where that is host memory, the one at the other.
  const int device = to_gpu ? incoming.device_ : std::max(executor.find(card.device), 0);
  auto lent = ipc_cache_.import_memory(card.sender, card.memory, device);
  if (!lent) return lent.status();
  const std::byte* const from = lent->at(card.memory.offset);
  if (to_gpu) {
    auto pulled = copies_.get({incoming.to_, from, card.bytes, &end_word(slot_of(card)), card.use}, card.sender,
                              device, std::move(lent->mapping));
    if (!pulled) return pulled.status();
    incoming.under_way_ = std::move(*pulled);
    incoming.protocol_ = RecvTransfer::Protocol::get;
    return {};
  }
  auto& line = lines_[device];
  if (line == nullptr) {
    auto made = stage::CopyQueue::create(executor, device);
    if (!made) return made.status();
    line = std::move(*made);
  }
  const auto copy = line->copy(incoming.to_, from, card.bytes);
  if (!copy) return copy.status();
  incoming.line_ = line.get();
  incoming.copy_ = *copy;
  incoming.mapping_ = std::move(lent->mapping);
  incoming.protocol_ = RecvTransfer::Protocol::copied;
  return {};
}

void Messages::get(RecvTransfer& incoming) {
  if (!rtr_of(incoming.rts_).claim(incoming.rts_.number)) {
    incoming.protocol_ = RecvTransfer::Protocol::buffered;
    return;
  }
  const Status pending = begin_get(incoming);
  if (pending.ok()) return;
  incoming.protocol_ = RecvTransfer::Protocol::host_bounce;
  if (!warned_) log(LogLevel::info, fmt::format("messages come by way of host memory: {}", pending.text()));
  warned_ = true;
  const Rts& card = incoming.rts_;
  slot_of(card).words[kAsk].store(card.number, std::memory_order_release);
}

Status Messages::RecvTransfer::fetch_file() {
  const std::uint64_t offered = messages_.slot_of(rts_).words[kOffer].load(std::memory_order_acquire);
  if (offered == kNoCopy) return Status(Code::out_of_memory, "the sender has no host memory for a copy");
  auto file = messages_.group_.fetch(rts_.sender, offered - 1);
  if (!file) return file.status();
  const device::Memory mapped = map_all(file->get(), rts_.bytes);
  if (mapped.data() == nullptr) return Status(Code::out_of_memory, "a message's host memory cannot be mapped");
  if (device_ >= 0)
    if (auto status = messages_.gpus_.still_held(to_, device_); !status) return status;
  return messages_.gpus_.copy(to_, mapped.data(), rts_.bytes);
}

Result<bool> Messages::RecvTransfer::copied() {
  if (protocol_ == Protocol::copied) return line_->done(copy_);
  if (messages_.slot_of(rts_).words[kOffer].load(std::memory_order_acquire) == 0) return false;
  if (auto status = fetch_file(); !status) return status;
  return true;
}

std::string Messages::RecvTransfer::how() const {
  switch (protocol_) {
    case Protocol::put: return fmt::format("{}, by its sender's GPU", kPlan);
    case Protocol::get: return fmt::format("{}, by this GPU{}", kPlan, messages_.copies_.how(under_way_, rts_.bytes));
    case Protocol::kernel_get: return fmt::format("{}, by a block that stays on this GPU", kPlan);
    case Protocol::copied: return fmt::format("{}, to host memory", kPlan);
    case Protocol::buffered: return "from host memory, where its sender had left it";
    case Protocol::host_bounce: break;
  }
  return "by way of host memory: this process does not reach it";
}

Result<bool> Messages::RecvTransfer::accepted() {
  if (messages_.has_ended(rts_)) {
    told_ = true;
    if (rts_.bytes > kMostTogether) {
      const std::lock_guard lock(messages_.mutex_);
      messages_.unresponsive_[rts_.sender].times = 0;
    }
    if (rts_.bytes >= CopyScheduler::kLeastSeveral)
      if (auto whole = messages_.copies_.fault(); !whole) return whole;
    return true;
  }
  const auto now = std::chrono::steady_clock::now();
  const std::uint64_t looks = messages_.progress_of(rts_.sender).passes.load(std::memory_order_relaxed);
  const std::uint64_t alive = messages_.progress_of(rts_.sender).alive.load(std::memory_order_relaxed);
  if (!until_) looks_at_first_ = looks;
  if (!until_ || alive != alive_) until_ = now + kHearing + std::chrono::nanoseconds(rts_.bytes / kBytesANanosecond);
  alive_ = alive;
  Rtr rtr = messages_.rtr_of(rts_);
  const bool late = rtr.is_posted(rts_.number) && (now > *until_ || looks - looks_at_first_ >= kLooks);
  if (!rtr.is_rejected(rts_.number) && (!late || !rtr.cancel(rts_.number))) return true;
  const std::lock_guard lock(messages_.mutex_);
  Unresponsive& deaf = messages_.unresponsive_[rts_.sender];
  const int more = rts_.bytes > kMostTogether ? 1 : 0;
  deaf = late ? Unresponsive{deaf.times + more, kUnresponsive, looks} : Unresponsive{kTimes, kUnable, looks};
  return false;
}

Result<bool> Messages::RecvTransfer::test() {
  if (!failed_.ok()) return failed_;
  if (told_) return true;
  if (protocol_ == Protocol::put) {
    auto accepted = this->accepted();
    if (!accepted) return accepted;
    if (*accepted) return told_;
    const std::lock_guard lock(messages_.mutex_);
    messages_.get(*this);
  }
  if (protocol_ == Protocol::get) {
    told_ = messages_.has_ended(rts_);
    if (told_) return true;
    if (auto status = under_way_.copy->look(); !status) {
      messages_.tell(rts_);  // or its sender would wait for what never comes
      return failed_ = status;
    }
    return false;
  }
  auto done = copied();
  if (done.ok() && !*done) return false;
  messages_.tell(rts_);
  told_ = true;
  return done;
}

}  // namespace sennit::shim::mpi
