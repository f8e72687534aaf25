#include "shim/nccl/process.h"

#include <cstdio>
#include <thread>

#include "comm/job_place.h"
#include "shim/nccl/abi/types.h"

namespace sennit::shim::nccl {

namespace {

std::uint64_t bytes_of(const Call& call) {
  const auto type = type_of(call.type);
  return type ? call.count * device::bytes_of(*type) : 0;
}

/// Returns true if this process reports and explains: rank 0 of the job, else of the communicator.
bool speaks(const CommPlace& place) {
  static const auto job = comm::place_from_environment();
  // Tasks of a launcher may start the ranks, more of them than it knows of.
  return job.ok() && job->size > 1 && job->size >= place.size ? job->rank == 0 : place.rank == 0;
}

}  // namespace

void LastError::say(std::string_view text) {
  const std::lock_guard lock(mutex_);
  text_[text.copy(text_, sizeof text_ - 1)] = '\0';
}

int LastError::from_nccl(int code) {
  if (code != kSuccess && code != kInProgress) say({});
  return code;
}

const char* LastError::text() {
  const std::lock_guard lock(mutex_);
  return text_[0] != '\0' ? text_ : nullptr;
}

void CallTally::count(const Call& call, std::string_view how, Time start, const CommState* state) {
  if (reports_)
    count(name_of(call.entry), bytes_of(call), how, start);
  else
    tell(how);
  if (explains_ && state != nullptr && speaks(state->place))
    explanations_.say(name_of(call.entry), bytes_of(call), how);
}

void CallTally::count(std::string_view name, std::uint64_t bytes, std::string_view how, Time start) {
  tell(how);
  if (!reports_) return;
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  report_.count(name, bytes, how, took.count());
}

void CallTally::note(const CommPlace& place) {
  const std::lock_guard lock(mutex_);
  if (std::pair(-place.size, place.rank) < std::pair(-largest_.size, largest_.rank)) largest_ = place;
}

void CallTally::print() const {
  if (!reports_ || largest_.size == 0 || !speaks(largest_)) return;
  std::fputs(report_.empty() ? "sennit: no collective of NCCL was called on rank 0\n"
                             : report_.text("sennit: NCCL's calls on rank 0, and the host's time for them").c_str(),
             stderr);
}

int Process::wait_for_nccl(CommState* state, Comm comm) const {
  int code = kInProgress;
  for (;; std::this_thread::sleep_for(kLook)) {
    const CommGuard guard(state);
    if (!guard || nccl.comm_get_async_error(comm, &code) != kSuccess || code != kInProgress) return code;
  }
}

}  // namespace sennit::shim::nccl
