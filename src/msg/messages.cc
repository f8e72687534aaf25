#include "msg/messages.h"

#include <atomic>
#include <bit>
#include <utility>

namespace sennit::msg {

Messages::Messages(comm::Group& group, std::array<std::uint64_t, 2> job, stage::Gpus& gpus, IpcCache& ipc_cache,
                   LookAlikes& look_alikes, CopyScheduler::MakeExecutor make_executor)
    : group_(group),
      job_(job),
      gpus_(gpus),
      ipc_cache_(ipc_cache),
      look_alikes_(look_alikes),
      copies_(group, gpus.executor(), ipc_cache, std::move(make_executor)) {
  static_assert(std::endian::native == std::endian::little);  // of end_word()
}

comm::Slot& Messages::slot_of(int sender, int slot) const {
  return group_.slots(sender).rts[static_cast<std::size_t>(slot)];
}

void Messages::begin_pass() {
  progress_of(group_.rank()).passes.fetch_add(1, std::memory_order_relaxed);
  progress_of(group_.rank()).alive.fetch_add(1, std::memory_order_relaxed);
}

bool Messages::has_completed(const Rts& rts) const {
  const device::Word ended = std::atomic_ref(end_word(slot_of(rts))).load(std::memory_order_acquire);
  return device::reached(ended, rts.use);
}

void Messages::signal_completion(const Rts& rts) const {
  std::atomic_ref(end_word(slot_of(rts))).store(rts.use, std::memory_order_release);
}

std::unique_ptr<Messages::SendTransfer> Messages::announce(const void* data, std::uint64_t bytes, const Envelope& to,
                                                           bool sync_memops, bool synchronous) {
  const auto exported = ipc_cache_.export_by_key(data, bytes);
  if (!exported || exported->device < 0) return nullptr;
  const std::lock_guard lock(mutex_);
  if (!buffered_.empty()) sweep();
  const auto taken = slots_.take(bytes, to, look_alikes_.doubtful(to.dest, to.tag));
  if (!taken) return nullptr;
  std::unique_ptr<SendTransfer> message(new SendTransfer(*this));
  message->data_ = data;
  message->to_ = to;
  message->time_ = look_alikes_.now();
  message->device_ = exported->device;
  message->keeps_none_ = synchronous;
  Rts& rts = message->rts_;
  rts.job[0] = job_[0];
  rts.job[1] = job_[1];
  rts.number = ++numbers_;
  rts.bytes = bytes;
  rts.sender = group_.rank();
  rts.slot = taken->slot;
  rts.step = taken->step;
  rts.use = ++uses_[static_cast<std::size_t>(taken->slot)];
  auto& words = slot_of(rts).words;
  words[RtsWords::kOffer].store(0, std::memory_order_relaxed);
  // A reader that finds one of these words new finds the end of the slot's message before, too.
  words[RtsWords::kBytes].store(bytes, std::memory_order_release);
  words[RtsWords::kEnvelope].store(to.dest_and_tag(), std::memory_order_release);
  words[RtsWords::kMembers].store(to.members, std::memory_order_release);
  words[RtsWords::kStep].store(static_cast<std::uint64_t>(taken->step), std::memory_order_release);
  words[RtsWords::kUse].store(rts.use, std::memory_order_release);
  rts.memory = exported->key;
  const auto& uuid = gpus_.executor().devices()[static_cast<std::size_t>(exported->device)].uuid;
  std::strncpy(rts.device, uuid.c_str(), sizeof rts.device - 1);
  rts.sync_memops = sync_memops;
  auto& sent = sent_[static_cast<std::size_t>(taken->slot)];
  sent.resize(static_cast<std::size_t>(rts.length()));
  std::memcpy(sent.data(), &rts, sizeof rts);
  message->sent_ = sent.data();
  return message;
}

void Messages::forget(const Buffered& one) {
  if (one.offered != 0) group_.withdraw(one.offered - 1);
  look_alikes_.taken(one.to, one.time);
  slots_.give_back(one.rts.slot);
}

void Messages::sweep() {
  std::erase_if(buffered_, [this](const Buffered& one) {
    const bool over = has_completed(one.rts);
    if (over) forget(one);
    return over;
  });
}

void Messages::refuse(const Rts& rts, bool matched) {
  const std::lock_guard lock(mutex_);
  note_received(rts, matched);
  signal_completion(rts);
}

// ---- probes -------------------------------------------------------------------------------------------------------

template <class Visit>
void Messages::visit_alike(int sender, const Likeness& likeness, const Visit& visit) const {
  for (int number = Rts::group_of(static_cast<int>(likeness.step)); number < Rts::kSlots; number += Rts::kGroups) {
    comm::Slot& slot = slot_of(sender, number);
    const auto use = static_cast<device::Word>(slot.words[RtsWords::kUse].load(std::memory_order_acquire));
    const auto holds = [&](std::size_t word, std::uint64_t value) {
      return slot.words[word].load(std::memory_order_acquire) == value;
    };
    if (!holds(RtsWords::kEnvelope, likeness.dest_and_tag) || !holds(RtsWords::kMembers, likeness.members) ||
        !holds(RtsWords::kStep, likeness.step))
      continue;
    // An RTS has ended where its slot's words are those of a use that is not there yet.
    if (device::reached(std::atomic_ref(end_word(slot)).load(std::memory_order_relaxed), use)) continue;
    if (visit(RtsTracker::One{number, use}, slot.words[RtsWords::kBytes].load(std::memory_order_relaxed))) return;
  }
}

std::optional<std::uint64_t> Messages::announced(int sender, int tag, std::uint64_t members, std::uint64_t bytes,
                                                 bool taken) {
  const auto step = Rts::step_of(bytes);
  if (!step || sender < 0 || sender == group_.rank() || !group_.same_node(sender)) return std::nullopt;
  std::optional<std::uint64_t> found;
  const std::lock_guard lock(mutex_);
  RtsTracker& tracker = trackers_[sender];
  const Likeness likeness{static_cast<std::uint64_t>(*step), Envelope::dest_and_tag(group_.rank(), tag), members};
  visit_alike(sender, likeness, [&](const RtsTracker::One& one, std::uint64_t of_message) {
    if (!tracker.is_left(one)) return false;
    if (taken) tracker.take(one);
    found = of_message;
    return true;
  });
  return found;
}

void Messages::note_received(const Rts& rts, bool matched) {
  const auto alike = [&](const auto& visit) {
    const auto& words = slot_of(rts).words;
    const Likeness likeness{words[RtsWords::kStep].load(std::memory_order_relaxed),
                            words[RtsWords::kEnvelope].load(std::memory_order_relaxed),
                            words[RtsWords::kMembers].load(std::memory_order_relaxed)};
    visit_alike(rts.sender, likeness, [&](const RtsTracker::One& one, std::uint64_t) { return visit(one); });
  };
  trackers_[rts.sender].receive({rts.slot, rts.use}, matched, alike);
}

}  // namespace sennit::msg
