#include "shim/mpi/rma/rma.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"

namespace sennit::shim::mpi {

Windows& Rma::make_windows(const WindowMpi& of) {
  if (Windows* const made = live_windows_.load(std::memory_order_acquire)) return *made;
  msg::IpcCache* const lent = transports_.ipc_cache();
  stage::Gpus* const here = staging_.gpus();
  const std::lock_guard lock(mutex_);
  if (windows_ == nullptr) {
    CommRegistry* const all = job_.communicators.get();
    WindowTools tools{
        job_.mpi,
        of,
        here,
        staging_.host(),
        all != nullptr ? &all->group() : nullptr,
        lent,
        [this](const void* at) { return job_.memories.info_of(at).device; },
        [this](Handle comm, int rank) {
          return job_.communicators != nullptr ? job_.communicators->world_rank(comm, rank) : -1;
        },
        [this] { progress_.make(); },
        job_.switches.accumulate_from,
        [this](std::uint64_t bytes, std::string_view how) { reporting_.explain_way("win_create", bytes, how); }};
    windows_ = std::make_unique<Windows>(std::move(tools));
    live_windows_.store(windows_.get(), std::memory_order_release);
  }
  return *windows_;
}

bool Rma::may_ask(Handle comm) {
  if (job_.communicators == nullptr) return !job_.apart;
  const auto& ranks = job_.communicators->find_or_begin(comm).ranks;
  return std::ranges::none_of(ranks, [](int rank) { return rank < 0; });
}

int Rma::create_window(const WindowMpi& of, Handle comm, WindowMemory memory, std::int64_t unit,
                       const Windows::Make& make) {
  bool any = false;
  const bool gpu = memory.bytes > 0 && job_.memories.is_device(memory.base);
  Handle unused = kNoHandle;
  if (!may_ask(comm)) {
    if (!gpu) return make(memory.base, memory.bytes, unused);
    return reporting_.fail("MPI_Win_create", comm,
                           Status(Code::unsupported, "GPU memory in a window of ranks that may run without sennit",
                                  {}, "Start sennit run before the launcher, and let no rank be of another job"));
  }
  if (const int code = Windows::any_gpu(job_.mpi, comm, gpu, any); code != 0) return code;
  if (!any) return make(memory.base, memory.bytes, unused);
  Status why;
  const int code = make_windows(of).create(comm, memory, unit, make, why);
  return why.ok() ? code : reporting_.fail("MPI_Win_create", comm, why);
}

int Rma::perform(const WindowMpi& of, Call& call, const Remote& remote, const RealCall& real, void* request) {
  const auto since = Reporting::Clock::now();
  const auto touches = [&](const Part& part) { return part.used() && job_.memories.is_device(part.address); };
  if (staging_.gpus() == nullptr && std::ranges::any_of(call.all(), touches)) {
    reporting_.say(function_of(call), kNoHandle, staging_.no_gpus());
    return of.fail(remote.window, job_.mpi.err_other());
  }
  const auto outcome = make_windows(of).perform(call, remote, real, request);
  if (!outcome.why.ok())
    log(LogLevel::error,
        fmt::format("rank {}: MPI_{}: {}", job_.rank, kFamilyNames[std::size_t(call.family)], outcome.why.text()));
  if (!outcome.why.ok() || outcome.how.empty()) return outcome.code;
  reporting_.count(call, outcome.bytes, outcome.how, since);
  reporting_.explain_way(call.function(), outcome.bytes, outcome.how, outcome.detail);
  return outcome.code;
}

int Rma::refuse_to_attach(const WindowMpi& of, Handle window) const {
  log(LogLevel::error, fmt::format("rank {}: MPI_Win_attach: GPU memory cannot be attached to a window: give it to "
                                   "MPI_Win_create",
                                   job_.rank));
  return of.fail(window, of.err_attach());
}

void Rma::finish() {
  live_windows_.store(nullptr, std::memory_order_release);
  windows_.reset();
}

}  // namespace sennit::shim::mpi
