// The half of the drop-in that has to do with messages and with requests that move.
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "shim/mpi/drop_in.h"

namespace sennit::shim::mpi {

Loans* DropIn::loans() {
  if (gpus() == nullptr || communicators_ == nullptr) return nullptr;
  const std::lock_guard lock(gpus_mutex_);
  if (loans_ == nullptr) loans_ = std::make_unique<Loans>(communicators_->group(), gpus_->executor());
  return loans_.get();
}

Messages* DropIn::messages() {
  if (loans() == nullptr) return nullptr;
  const std::lock_guard lock(gpus_mutex_);
  if (messages_ == nullptr) {
    messages_ =
        std::make_unique<Messages>(communicators_->group(), communicators_->job(), *gpus_, *loans_, look_alikes_,
                                   [memories = memories_.get()] { return memories->executor_for_communicator(); });
    live_messages_.store(messages_.get(), std::memory_order_release);
  }
  return messages_.get();
}

bool DropIn::looks_at_receives(bool request) {
  if (listening_.load(std::memory_order_acquire)) return true;
  if (communicators_ == nullptr) return false;
  if (!memories_->awake() || unseen_receives_.load(std::memory_order_relaxed) || messages() == nullptr) {
    if (request) unseen_receives_.store(true, std::memory_order_relaxed);
    return false;
  }
  (void)pieces();  // what is looked at may be a card
  communicators_->listen();
  listening_.store(true, std::memory_order_release);
  return true;
}

std::unique_ptr<Outgoing> DropIn::announce(const Call& call, std::string_view& why) {
  const Part& part = call.parts[0];
  const auto uniform = part.elements.type == kNoHandle ? std::nullopt : mpi_->uniform(part.elements.type);
  why = "derived type with gaps";
  if (!uniform) return nullptr;
  const std::uint64_t bytes = static_cast<std::uint64_t>(part.count()) * static_cast<std::uint64_t>(uniform->count) *
                              bytes_of(uniform->meaning);
  why = "small";
  if (part.count() < 0 || bytes < kLeastAnnounced) return nullptr;
  why = "a tag that MPI refuses";  // which MPICH need not say of an announcement either, and its receiver never comes
  if (call.tag < 0 || call.tag > mpi_->largest_tag()) return nullptr;
  why = "SENNIT_OPS";
  if (!wanted(call)) return nullptr;
  why = "to itself, or a process of another job";
  const auto to = communicators_ != nullptr ? communicators_->peer(call.comm, call.dest) : Communicators::Peer();
  if (to.world_rank < 0 || to.world_rank == rank_) return nullptr;
  const Envelope envelope{to.world_rank, call.tag, call.comm, to.members};
  if (!communicators_->group().same_node(to.world_rank))
    return announce_elsewhere(part.address, bytes, envelope, why);
  why = "to a process that uses no GPU yet";
  if (!communicators_->listens(to.world_rank)) return nullptr;
  why = "memory that cannot be shared, or too many on their way";
  if (messages() == nullptr) return nullptr;
  const bool synchronous = call.family == Family::Ssend;
  return messages_->announce(part.address, bytes, envelope, memories_->held_again(part.address).settled, synchronous);
}

int DropIn::wait_until_taken(Outgoing& outgoing, const Call& call) {
  for (Patience patience;; patience.wait()) {
    outgoing.is_waited_for();
    const auto taken = outgoing.taken();
    if (!taken) return fail(call, taken.status());
    if (*taken) {
      if (explains_) explain(call.function(), outgoing);
      return 0;
    }
    progress();
    mpi_->progress();
    if (auto lost = check(outgoing.peer()); !lost) return fail(call, lost);
  }
}

std::unique_ptr<Receive> DropIn::receive_of(const Call& call, const Shadows& shadows) {
  const std::size_t index = static_cast<std::size_t>(call.count) - 1;  // the last buffer is what is received into
  const Part& part = call.parts[index];
  Shape shape;
  if ((part.address == nullptr && !part.absolute) || part.elements.type == kNoHandle ||
      mpi_->shape(part.elements.type, shape) != 0)
    return nullptr;
  const std::int64_t capacity = part.count() * shape.size;
  if (capacity < static_cast<std::int64_t>(kLeastLookedAt)) return nullptr;
  auto receive = std::make_unique<Receive>();
  receive->function = call.function();
  if (explains_) receive->detail = shadows.how();
  receive->landed = shadows.memory()[index];
  receive->goes_on = shadows.scattered(index) && shadows.memory().types[index] != kNoHandle;
  receive->buffer = receive->goes_on ? receive->landed : const_cast<void*>(part.address);
  receive->held = receive->goes_on ? Held{} : shadows.held(index);
  receive->capacity = capacity;
  receive->source = call.source;
  receive->tag = call.tag;
  if (!receive->goes_on && !mpi_->uniform(part.elements.type)) {
    receive->type = mpi_->keep(part.elements.type, receive->type_keeper);
    if (receive->type == kNoHandle) return nullptr;
  }
  return receive;
}

void DropIn::look(Receive& receive, std::int64_t bytes, Program program) {
  receive.looked = true;
  fetch_announced(receive, bytes, program);
  if (explains_ && receive.incoming == nullptr && receive.error == 0) explain_staged(receive, bytes);
}

void DropIn::fetch_announced(Receive& receive, std::int64_t bytes, Program program) {
  if (bytes < static_cast<std::int64_t>(kLeastLookedAt) || bytes > static_cast<std::int64_t>(kLongestAnnouncement))
    return;
  const void* came = receive.landed;
  std::array<std::byte, kLongestAnnouncement> packed;
  if (receive.type != kNoHandle) {
    // Of an element that is large nothing is packed but what may be an announcement.
    const auto rows = mpi_->rows(receive.type);
    if (rows && rows->data() >= bytes)
      path::gather(*rows, static_cast<const std::byte*>(receive.landed), bytes, packed.data());
    else if (const int code = mpi_->pack(receive.landed, receive.type, bytes, packed.data()); code != 0)
      receive.error = code;
    if (receive.error != 0) return;
    came = packed.data();
  }
  const auto length = static_cast<std::uint64_t>(bytes);
  if (messages_->is_announcement(came, length))
    fetch<Announcement>(receive, *messages_, came, program);
  else if (pieces_ != nullptr && pieces_->is_card(came, length))
    fetch<Pieces::Card>(receive, *pieces_, came, program);
}

template <class Card, class Way>
void DropIn::fetch(Receive& receive, Way& way, const void* came, Program program) {
  Card card{};  // what came may be where the message goes
  std::memcpy(&card, came, sizeof card);
  const bool matched = !receive.source;
  if (card.bytes > static_cast<std::uint64_t>(receive.capacity)) {
    way.refuse(card, matched);
    receive.error = mpi_->err_truncate();
    return;
  }
  void* to = receive.buffer;
  int device = receive.held.device;
  if (receive.type != kNoHandle) {
    auto room = host_->take(card.bytes);
    if (!room) {
      way.refuse(card, matched);
      receive.error = mpi_->err_no_memory();
      return;
    }
    receive.packed = std::move(*room);
    to = receive.packed.data();
    device = -1;
  }
  if constexpr (std::is_same_v<Way, Messages>) {
    // Several are copied by one kernel of their sender's, which takes hardly longer for them than for one.
    if (program == Program::waits && receive.held.settled && device >= 0 && !requests_.any_awaited())
      receive.incoming = way.bring(card, matched, to, device);
    if (receive.incoming != nullptr) return;
  }
  receive.incoming = way.fetch(card, matched, to, device);
}

bool DropIn::arrived(Receive& receive, Handle comm) {
  if (receive.incoming == nullptr || receive.error != 0) return true;
  const auto done = receive.incoming->done();
  if (!done) {
    say("receiving a message", comm, done.status());
    receive.error = code_of(done.status());
    return true;
  }
  if (*done && explains_) explain_fetched(receive);
  return *done;
}

void DropIn::explain(Function function, const Outgoing& outgoing) {
  explanations_.say_way(name_of(function), outgoing.bytes(), outgoing.how());
}

void DropIn::explain_staged(const Receive& receive, std::int64_t bytes) {
  if (receive.held.device < 0 || bytes <= 0) return;  // the host's, which passes as it is
  explain_staged(receive.function, static_cast<std::uint64_t>(bytes), "staged: " + std::string(kFromHost),
                 receive.detail);
}

void DropIn::explain_fetched(const Receive& receive) {
  const bool unpacked = receive.type != kNoHandle;
  explanations_.say_way(name_of(receive.function), receive.incoming->bytes(),
                        receive.incoming->how() + (unpacked ? ", and unpacked there" : ""));
}

int DropIn::complete(Receive& receive, Handle comm, Shadows* shadows, std::int64_t& bytes, Bringing* bringing) {
  if (receive.error != 0) {
    if (shadows != nullptr) shadows->mark_written(shadows->bytes());
    return mpi_->fail(comm, receive.error);
  }
  if (receive.incoming == nullptr) {
    const auto given = shadows != nullptr ? shadows->give_back(bytes, bringing) : Status();
    return given.ok() ? 0 : fail("receiving a message", comm, given);
  }
  bytes = static_cast<std::int64_t>(receive.incoming->bytes());
  if (receive.goes_on) {
    const auto given = shadows != nullptr ? shadows->give_back(bytes) : Status();
    return given.ok() ? 0 : fail("receiving a message", comm, given);
  }
  if (receive.type == kNoHandle) {
    if (shadows != nullptr) shadows->mark_written(kLongestAnnouncement);
    return 0;
  }
  if (const int code = mpi_->unpack(receive.packed.data(), bytes, receive.landed, receive.type); code != 0)
    return mpi_->fail(comm, code);
  const auto given = shadows != nullptr ? shadows->give_back(bytes) : Status();
  if (!given.ok()) return fail("receiving a message", comm, given);
  host_->give(std::move(receive.packed));
  return 0;
}

bool DropIn::ready(Handle request, OpenRequest& open, Program program) {
  if (open.sends != nullptr) return is_sent(open, program);
  if (!open.moves()) return true;
  const std::lock_guard lock(open.mutex);
  // Another thread may have ended it since it was found, and its handle may be another request's.
  if (open.claimed || !open.active) return !open.active;
  if (open.begun != nullptr) {
    if (!open.begun->over()) return false;
    open.finished = open.persistent;
    if (!open.persistent && !std::exchange(open.told, true)) (void)mpi_->end_placeholder(request);
    return true;
  }
  if (open.outgoing == nullptr && open.receive == nullptr) return true;  // of a freed communicator: the real one's
  bool done = false;
  Received received;
  if (open.outgoing != nullptr) {
    if (!open.lost.ok()) return true;
    if (program == Program::waits) open.outgoing->is_waited_for();
    const auto taken = open.outgoing->taken();
    if (!taken.ok()) open.lost = taken.status();
    if (taken.ok() && *taken && explains_) explain(open.function, *open.outgoing);
    if (taken.ok() && *taken && open.outgoing->is_left()) {
      // The real one ends when its card is received, or was cancelled.
      const bool ended = mpi_->look_at(request, false, done, received) == 0 && done;
      open.let_go = open.finished = !ended;
    }
    if (!taken.ok() || *taken) return true;
    // One that was cancelled before it was received stays untaken.
    return mpi_->look_at(request, false, done, received) == 0 && done && received.cancelled;
  }
  Receive& receive = *open.receive;
  if (!receive.looked) {
    Handle left = request;
    const int code = open.persistent ? mpi_->look_to_end(left, open.comm(), done, received)
                                     : mpi_->look_at(request, false, done, received);
    open.gone = left != request;
    if (mpi_->goes_on_after_death(code)) return true;  // the real function says so, and what comes is looked at then
    if (code != 0) {
      receive.looked = true;
      // Of a persistent one this was the end; of others the real function says what is wrong once more.
      open.status = received.status;
      open.finished = open.persistent;
      if (open.persistent) receive.error = code;
      return true;
    }
    if (!done) return false;
    open.status = received.status;
    open.finished = open.persistent;
    // Where the memory was freed meanwhile, who goes on to fetch finds that out.
    if (receive.held.device >= 0 && !gpus_->still_held(receive.buffer, receive.held.device))
      program = Program::goes_on;
    look(receive, received.cancelled ? 0 : received.bytes, program);
  }
  return arrived(receive, open.comm());
}

bool DropIn::is_sent(OpenRequest& open, Program program) {
  const std::lock_guard lock(open.mutex);
  if (open.sent == nullptr) return true;  // the real library's alone
  open.finished = ready(open.card, *open.sent, program);
  return open.finished;
}

void DropIn::look_at_first() {
  constexpr int kMost = 2;  // a default: who lags behind what comes catches up
  if (!requests_.busy()) return;
  for (int looks = 0; looks < kMost; ++looks) {
    const auto [request, open] = requests_.first_awaited();
    if (open == nullptr) return;
    (void)ready(request, *open, Program::goes_on);
    if (!open->receive->looked.load(std::memory_order_relaxed)) return;
  }
}

void DropIn::hear_first() {
  // Defaults: a kernel for so many short messages takes a program 4 µs; a long one is worth the copy engine's 3 µs.
  constexpr std::size_t kMany = 4;
  constexpr std::uint64_t kLong = 1 << 20;
  const auto wished = requests_.wished(kMany, kLong);
  const Together together;
  for (const auto& [request, open] : wished) (void)ready(request, *open, Program::goes_on);
}

void DropIn::bring(Handle request, OpenRequest& open) {
  // A persistent one would be completed by the look.
  if (!open.active || open.persistent || !open.receives || open.shadows == nullptr) return;
  const std::lock_guard lock(open.mutex);
  if (open.claimed || open.brought ||
      (open.receive != nullptr &&
       (!open.receive->looked || open.receive->incoming != nullptr || open.receive->error != 0)))
    return;
  bool done = false;
  Received received;
  if (mpi_->look_at(request, false, done, received) != 0 || !done || received.cancelled) return;
  open.brought = open.shadows->give_back(received.bytes).ok();  // else completing it says what is wrong
}

void DropIn::progress() {
  if (!requests_.busy()) return;
  if (Messages* const messages = live_messages_.load(std::memory_order_acquire)) messages->look_at_all();
  (void)move_turns(Mover::program);
  {
    const Together together;
    for (const auto& [request, open] : requests_.moving()) (void)ready(request, *open, Program::goes_on);
  }
  complete_left(Program::goes_on);
}

void DropIn::complete_left(Program program) {
  if (!requests_.any_left()) return;
  for (const auto& [request, open] : requests_.left()) {
    if (!ready(request, *open, program)) continue;
    {
      const std::lock_guard lock(open->mutex);
      if (!open->active || std::exchange(open->claimed, true)) continue;  // another thread is at it
    }
    if (complete_left(request, *open)) {
      requests_.forget(open);
    } else {
      const std::lock_guard lock(open->mutex);
      open->claimed = false;
    }
  }
}

bool DropIn::complete_left(Handle request, OpenRequest& open) {
  bool done = true;
  Received received;
  // A look completes it, as one at a persistent request does.
  const int code =
      open.let_go ? mpi_->free_request(request) : mpi_->look_to_end(request, open.comm(), done, received);
  if (code == 0 && !done) return false;
  requests_.end(open);
  if (code != 0 || open.let_go || open.brought) return true;
  if (!open.lost.ok()) (void)fail("sending a message", open.comm(), open.lost);
  std::int64_t bytes = !open.receives ? -1 : received.cancelled ? 0 : received.bytes;
  if (open.receive != nullptr) {
    (void)complete(*open.receive, open.comm(), open.shadows.get(), bytes);
  } else if (open.shadows != nullptr) {
    const auto given = open.shadows->give_back(bytes);
    if (!given.ok()) (void)fail("completing a request", open.comm(), given);
  }
  return true;
}

void DropIn::match(Handle message, Handle comm) {
  if (!listening_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(matched_mutex_);
  matched_[message] = comm;
}

Handle DropIn::comm_of(Handle message) {
  const std::lock_guard lock(matched_mutex_);
  const auto found = matched_.find(message);
  return found != matched_.end() ? found->second : kNoHandle;
}

std::optional<std::int64_t> DropIn::announced(const Communicators::Peer& from, int tag, std::int64_t bytes,
                                              bool taken) {
  const auto ask = [&](auto& way) -> std::optional<std::int64_t> {
    const auto length = static_cast<std::uint64_t>(bytes);
    const auto announced = way.announced(from.world_rank, tag, from.members, length, taken);
    return announced ? std::optional(static_cast<std::int64_t>(*announced)) : std::nullopt;
  };
  if (from.world_rank < 0 || from.world_rank == rank_) return std::nullopt;
  if (communicators_->group().same_node(from.world_rank)) return ask(*messages_);
  Pieces* const pieces = this->pieces();
  return pieces != nullptr ? ask(*pieces) : std::nullopt;
}

std::optional<std::int64_t> DropIn::probed(Handle comm, int source, int tag, std::int64_t bytes, bool taken) {
  if (live_messages_.load(std::memory_order_acquire) == nullptr || communicators_ == nullptr ||
      !Announcement::step_of(static_cast<std::uint64_t>(bytes)))
    return bytes;
  const auto from = communicators_->peer(comm, source);
  if (!announced(from, tag, bytes, false)) return bytes;
  // A probe finds no message that an open receive takes, so these have been given others, that came before: perhaps
  // the announcement.
  const auto matched = [&](const Receive& receive) {
    return receive.source && (*receive.source == source || *receive.source == mpi_->any_source()) &&
           (receive.tag == tag || receive.tag == mpi_->any_tag());
  };
  if (requests_.any_unseen(comm, matched)) return std::nullopt;
  return announced(from, tag, bytes, taken).value_or(bytes);  // again: those may have been looked at meanwhile
}

}  // namespace sennit::shim::mpi
