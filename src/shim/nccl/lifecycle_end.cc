#include <chrono>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "shim/nccl/abi/types.h"
#include "shim/nccl/lifecycle.h"

namespace sennit::shim::nccl {

namespace {

/// A default: how long a communicator's end waits for the other ranks. Those that come later are not waited for, and
/// its memory is kept meanwhile.
constexpr auto kLastWait = std::chrono::milliseconds(100);

/// Returns true if a communicator that does not block, and that is to be finalized, still does something here.
bool is_under_way(CommState& state) {
  return state.phase() == CommPhase::finalizing && !state.communicator->is_idle();
}

}  // namespace

int Lifecycle::comm_finalize(Comm comm) {
  const auto state = process_.comms.find(comm);
  Status flushed;
  if (state != nullptr) {
    if (!state->config.blocking) state->advance(CommEvent::finalize);
    if (state->config.blocking && is_made(state->phase()) && state->communicator != nullptr)
      flushed = state->communicator->flush();
    state->teardowns.wait_until_empty();
    if (is_freed(state->phase())) return aborted_meanwhile();
  }
  const int code = process_.nccl.comm_finalize(comm);
  return code == kSuccess && state != nullptr && is_under_way(*state) ? kInProgress : ended(code, flushed);
}

int Lifecycle::comm_destroy(Comm comm) {
  begin_children(comm, true);
  auto state = process_.comms.find(comm);
  if (state == nullptr) return process_.last_error.from_nccl(process_.nccl.comm_destroy(comm));
  state->join();
  // Until that is over others find it: an abort or a revoke ends the wait.
  const Status flushed = state->communicator != nullptr ? state->communicator->flush() : Status();
  state->teardowns.wait_until_empty();
  if (process_.comms.take(comm, *state))
    release(std::move(state), flushed.ok());
  else if (is_freed(state->phase()))
    return aborted_meanwhile();
  else if (const auto revoked = process_.comms.find(comm))
    process_.comms.take(comm, *revoked);
  return ended(process_.nccl.comm_destroy(comm), flushed);
}

int Lifecycle::comm_abort(Comm comm) {
  end_at_once(comm, CommEvent::abort);
  return process_.last_error.from_nccl(process_.nccl.comm_abort(comm));
}

int Lifecycle::comm_revoke(Comm comm, int flags) {
  const TeardownGuard teardown(process_.comms.find(comm));
  leave_to_nccl(comm, "NCCL: it was revoked");
  return process_.last_error.from_nccl(process_.nccl.comm_revoke(comm, flags));
}

int Lifecycle::comm_get_async_error(Comm comm, int* error) {
  const int code = process_.nccl.comm_get_async_error(comm, error);
  if (code != kSuccess || error == nullptr || *error == kInProgress) return process_.last_error.from_nccl(code);
  // That all is well with it need not mean that what was asked of it is there already.
  begin_children(*error != kSuccess ? comm : nullptr, false);
  const auto state = process_.comms.find(comm);
  // A watchdog hears of one error again and again, and what was said meanwhile is newer.
  if (state == nullptr || state->last_error.exchange(*error) != *error) (void)process_.last_error.from_nccl(*error);
  if (state == nullptr || *error != kSuccess) return code;
  if (!is_made(state->phase())) {
    *error = kInProgress;
    return code;
  }
  if (state->communicator == nullptr) return code;
  if (auto status = state->communicator->check(); !status) {
    *error = result_of(status);
    process_.last_error.say(fmt::format("sennit: rank {}: {}", state->place.rank, status.text()));
  } else if (is_under_way(*state)) {
    *error = kInProgress;
  }
  return code;
}

const char* Lifecycle::get_last_error(Comm comm) {
  const char* const text = process_.last_error.text();
  return text != nullptr ? text : process_.nccl.get_last_error(comm);
}

void Lifecycle::release(std::shared_ptr<CommState> state, bool is_done) {
  if (state->communicator == nullptr) return;
  Communicator& communicator = *state->communicator;
  // What can never complete would keep the memory, and the process.
  if (is_done)
    communicator.mark_finalized();
  else
    communicator.abort();
  const auto until = std::chrono::steady_clock::now() + kLastWait;
  bool goes = communicator.can_release();
  // While there are graphs with its calls it is kept anyway.
  const auto waits = [&] { return !goes && !communicator.has_siblings() && !communicator.has_graphs(); };
  while (waits() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(kLook);
    goes = communicator.can_release();
  }
  if (!goes) process_.comms.retire(std::move(state));
  process_.comms.release_idle();
}

bool Lifecycle::end_at_once(Comm comm, CommEvent event) {
  begin_children(comm, false);
  auto state = process_.comms.find(comm);
  if (state == nullptr) return false;
  const auto before = process_.comms.end(comm, *state, event);
  if (!before) return is_made(state->phase());
  state->nccl_queries.wait_until_empty();
  // An abort of NCCL's waits for no rank. Who still makes sennit's communicator asks nothing of NCCL any more, and
  // ends it then: see finish().
  if (is_made(*before)) {
    state->join();
    if (state->communicator == nullptr) return true;
    state->communicator->abort();
  }
  // To free memory may wait for all that runs on a GPU, and another communicator's kernel may wait there until the
  // program aborts that one, too, perhaps next: nothing is freed in an abort.
  process_.comms.retire(std::move(state));
  return is_made(*before);
}

void Lifecycle::leave_to_nccl(Comm comm, std::string reason) {
  const auto before = process_.comms.find(comm);
  if (before == nullptr) return;
  const bool was_made = end_at_once(comm, CommEvent::revoke);
  auto after = std::make_shared<CommState>();
  // Of one that was still being made nothing is known, and children of it are NCCL's.
  if (was_made) {
    after->place = before->place;
    after->key = before->key;
  }
  after->children = before->children;
  after->config = before->config;
  after->reason = std::move(reason);
  after->finish_making();
  process_.comms.add(comm, std::move(after));
}

int Lifecycle::ended(int code, const Status& status) {
  if (status.ok() || (code != kSuccess && code != kInProgress)) return process_.last_error.from_nccl(code);
  process_.last_error.say(fmt::format("sennit: what the communicator did has not ended well: {}", status.text()));
  return result_of(status);
}

int Lifecycle::aborted_meanwhile() {
  return ended(kSuccess, Status(Code::aborted, "another thread ended the communicator", "ncclCommAbort"));
}

}  // namespace sennit::shim::nccl
