#include "shim/mpi/p2p/progress.h"

#include <algorithm>
#include <utility>

#include "base/backoff.h"

namespace sennit::shim::mpi {

void Progress::make_of_busy() {
  if (msg::Messages* const messages = transports_.live_messages()) messages->begin_pass();
  (void)queue_.progress(Mover::program);
  {
    const msg::CopyBatch batch;
    for (const auto& [request, open] : requests_.moving()) (void)ready(request, *open, Program::goes_on);
  }
  complete_orphans(Program::goes_on);
}

bool Progress::ready(Handle request, OpenRequest& open, Program program) {
  if (open.sends != nullptr) return is_sent(open, program);
  if (!open.moves()) return true;
  const std::lock_guard lock(open.mutex);
  // Another thread may have ended it since it was found, and its handle may be another request's.
  if (open.claimed || !open.active) return !open.active;
  if (open.pending != nullptr) {
    if (!open.pending->over()) return false;
    open.finished = open.persistent;
    if (!open.persistent && !std::exchange(open.told, true)) (void)job_.mpi.end_placeholder(request);
    return true;
  }
  if (open.outgoing != nullptr) return ready_send(request, open, program);
  return open.receive == nullptr || ready_receive(request, open, program);  // of a freed communicator: the real one's
}

bool Progress::ready_send(Handle request, OpenRequest& open, Program program) {
  bool done = false;
  Received received;
  if (!open.lost.ok()) return true;
  if (program == Program::waits) open.outgoing->is_waited_for();
  const auto taken = open.outgoing->test();
  if (!taken.ok()) open.lost = taken.status();
  if (taken.ok() && *taken) explain(open.function, *open.outgoing);
  if (taken.ok() && *taken && open.outgoing->is_buffered()) {
    // The real one ends when its RTS is received, or was cancelled.
    const bool ended = job_.mpi.look_at(request, false, done, received) == 0 && done;
    open.let_go = open.finished = !ended;
  }
  if (!taken.ok() || *taken) return true;
  // One that was cancelled before it was received stays untaken.
  return job_.mpi.look_at(request, false, done, received) == 0 && done && received.cancelled;
}

bool Progress::ready_receive(Handle request, OpenRequest& open, Program program) {
  Receive& receive = *open.receive;
  if (!receive.looked) {
    bool done = false;
    Received received;
    Handle left = request;
    const int code = open.persistent ? job_.mpi.look_to_end(left, open.comm(), done, received)
                                     : job_.mpi.look_at(request, false, done, received);
    open.gone = left != request;
    // The real function says so, and what still comes is looked at then.
    if (job_.mpi.goes_on_after_death(code)) return true;
    if (code != 0) {
      receive.looked = true;
      // A persistent request has ended with this; of others the real function reports the error once more.
      open.status = received.status;
      open.finished = open.persistent;
      if (open.persistent) receive.error = code;
      return true;
    }
    if (!done) return false;
    open.status = received.status;
    open.finished = open.persistent;
    // The memory may have been freed meanwhile: a program that goes on to fetch finds that out.
    if (receive.held.device >= 0 && !staging_.made_gpus()->still_held(receive.buffer, receive.held.device))
      program = Program::goes_on;
    receives_.look(receive, received.cancelled ? 0 : received.bytes, program);
  }
  return receives_.arrived(receive, open.comm());
}

bool Progress::is_sent(OpenRequest& open, Program program) {
  const std::lock_guard lock(open.mutex);
  if (open.sent == nullptr) return true;  // the real library's alone
  open.finished = ready(open.rts_request, *open.sent, program);
  return open.finished;
}

void Progress::look_at_first_receives() {
  constexpr int kMost = 2;  // a default: who lags behind what comes catches up
  if (!requests_.busy()) return;
  for (int looks = 0; looks < kMost; ++looks) {
    const auto [request, open] = requests_.first_pending_receive();
    if (open == nullptr) return;
    (void)ready(request, *open, Program::goes_on);
    if (!open->receive->looked.load(std::memory_order_relaxed)) return;
  }
}

void Progress::serve_first_sends() {
  // Defaults: a kernel for so many short messages takes a program 4 µs; a long one is worth the copy engine's 3 µs.
  constexpr std::size_t kMany = 4;
  constexpr std::uint64_t kLong = 1 << 20;
  const auto wished = requests_.with_rtr(kMany, kLong);
  const msg::CopyBatch batch;
  for (const auto& [request, open] : wished) (void)ready(request, *open, Program::goes_on);
}

void Progress::bring(Handle request, OpenRequest& open) {
  // A persistent one would be completed by the look.
  if (!open.active || open.persistent || !open.receives || open.staged == nullptr) return;
  const std::lock_guard lock(open.mutex);
  if (open.claimed || open.brought ||
      (open.receive != nullptr &&
       (!open.receive->looked || open.receive->incoming != nullptr || open.receive->error != 0)))
    return;
  bool done = false;
  Received received;
  if (job_.mpi.look_at(request, false, done, received) != 0 || !done || received.cancelled) return;
  open.brought = open.staged->copy_out(received.bytes).ok();  // else completing it says what is wrong
}

void Progress::complete_orphans(Program program) {
  if (!requests_.any_orphans()) return;
  for (const auto& [request, open] : requests_.orphans()) {
    if (!ready(request, *open, program)) continue;
    {
      const std::lock_guard lock(open->mutex);
      if (!open->active || std::exchange(open->claimed, true)) continue;  // another thread is at it
    }
    if (complete_orphan(request, *open)) {
      requests_.forget(open);
    } else {
      const std::lock_guard lock(open->mutex);
      open->claimed = false;
    }
  }
}

bool Progress::complete_orphan(Handle request, OpenRequest& open) {
  bool done = true;
  Received received;
  // A look completes it, as one at a persistent request does.
  const int code =
      open.let_go ? job_.mpi.free_request(request) : job_.mpi.look_to_end(request, open.comm(), done, received);
  if (code == 0 && !done) return false;
  requests_.end(open);
  if (code != 0 || open.let_go || open.brought) return true;
  if (!open.lost.ok()) (void)reporting_.fail("sending a message", open.comm(), open.lost);
  std::int64_t bytes = !open.receives ? -1 : received.cancelled ? 0 : received.bytes;
  if (open.receive != nullptr) {
    (void)receives_.complete(*open.receive, open.comm(), open.staged.get(), bytes);
  } else if (open.staged != nullptr) {
    const auto given = open.staged->copy_out(bytes);
    if (!given.ok()) (void)reporting_.fail("completing a request", open.comm(), given);
  }
  return true;
}

int Progress::wait_for_receiver(msg::SendTransfer& outgoing, const Call& call) {
  for (Backoff backoff;; backoff.wait()) {
    outgoing.is_waited_for();
    const auto taken = outgoing.test();
    if (!taken) return reporting_.fail(call, taken.status());
    if (*taken) {
      explain(call.function(), outgoing);
      return 0;
    }
    make();
    job_.mpi.progress();
    if (auto lost = job_.check(outgoing.peer()); !lost) return reporting_.fail(call, lost);
  }
}

void Progress::explain(Function function, const msg::SendTransfer& outgoing) {
  if (reporting_.explains()) reporting_.explain_way(function, outgoing.bytes(), outgoing.how());
}

void Progress::flush_buffered() {
  Handle request = kNoHandle;
  if (!requests_.busy() || job_.mpi.begin_flush(request) != 0) return;
  bool done = false;
  for (Backoff backoff; job_.mpi.done(request, done) == 0 && !done; backoff.wait()) make();
}

Status Progress::check(OpenRequest& open) const {
  if (job_.communicators == nullptr || !job_.communicators->group().failed()) return {};
  const Handle comm = open.comm();
  std::optional<int> source;
  {
    const std::lock_guard lock(open.mutex);
    const OpenRequest& started = open.sent != nullptr ? *open.sent : open;
    if (started.outgoing != nullptr) return job_.check(started.outgoing->peer());
    if (open.receive != nullptr && open.receive->incoming != nullptr)
      return job_.check(open.receive->incoming->peer());
    if (open.receive != nullptr) source = open.receive->source;
  }
  // The MPI carries everything else.
  if (job_.mpi.tells_of_deaths() || comm == kNoHandle) return {};
  if (source && *source != job_.mpi.any_source()) return job_.check(job_.communicators->world_rank(comm, *source));
  return job_.communicators->check(comm);
}

std::optional<int> Progress::fail_if_lost(std::string_view what, OpenRequest& open) {
  const Status status = check(open);
  return status.ok() ? std::nullopt : std::optional(reporting_.fail(what, open.comm(), status));
}

std::optional<int> Progress::fail_if_lost(std::string_view what, Handle comm, int world_rank) {
  const Status status = job_.check(world_rank);
  return status.ok() ? std::nullopt : std::optional(reporting_.fail(what, comm, status));
}

std::vector<int> Progress::awaited_elsewhere() {
  std::vector<int> awaited;
  CommRegistry& all = *job_.communicators;
  if (all.beside() == kNoHandle) return awaited;
  const auto announcers = all.peer_query().announcers();
  const auto may_announce = [&](int rank) { return std::ranges::find(announcers, rank) != announcers.end(); };
  for (const auto& [request, open] : requests_.moving()) {
    const std::lock_guard lock(open->mutex);
    if (!open->active) continue;
    if (open->outgoing != nullptr) awaited.push_back(open->outgoing->peer());
    if (open->receive == nullptr) continue;
    const Receive& receive = *open->receive;
    if (receive.incoming != nullptr) {
      awaited.push_back(receive.incoming->peer());
    } else if (receive.looked) {
      continue;
    } else if (const Handle comm = open->comm();
               receive.source && *receive.source != job_.mpi.any_source() && comm != kNoHandle) {
      const int from = all.world_rank(comm, *receive.source);
      if (may_announce(from)) awaited.push_back(from);
    } else {
      awaited.insert(awaited.end(), announcers.begin(), announcers.end());
    }
  }
  std::ranges::sort(awaited);
  awaited.erase(std::unique(awaited.begin(), awaited.end()), awaited.end());
  std::erase_if(awaited, [&](int rank) { return rank < 0 || all.group().same_node(rank); });
  return awaited;
}

void Progress::finish() {
  // A rank that died never receives.
  for (Backoff backoff; requests_.any_orphans(); backoff.wait()) {
    make();
    complete_orphans(Program::waits);
    job_.mpi.progress();
    const auto left = requests_.orphans();
    if (!left.empty() && std::ranges::none_of(left, [&](const auto& each) { return check(*each.second).ok(); }))
      break;
  }
}

}  // namespace sennit::shim::mpi
