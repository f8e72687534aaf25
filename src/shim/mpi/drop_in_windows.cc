// The half of the drop-in that has to do with windows.
#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "shim/mpi/drop_in.h"

namespace sennit::shim::mpi {

Windows& DropIn::make_windows(const WindowMpi& of) {
  if (Windows* const made = live_windows_.load(std::memory_order_acquire)) return *made;
  Loans* const lent = loans();
  Gpus* const here = gpus();
  const std::lock_guard lock(gpus_mutex_);
  if (windows_ == nullptr) {
    WindowTools tools{*mpi_,
                      of,
                      here,
                      host_.get(),
                      communicators_ != nullptr ? &communicators_->group() : nullptr,
                      lent,
                      [this](const void* at) { return memories_->held_again(at).device; },
                      [this](Handle comm, int rank) {
                        return communicators_ != nullptr ? communicators_->world_rank(comm, rank) : -1;
                      },
                      [this] { progress(); },
                      switches_.accumulate_from,
                      [this](std::uint64_t bytes, std::string_view how) {
                        if (explains_) explanations_.say_way("win_create", bytes, how);
                      }};
    windows_ = std::make_unique<Windows>(std::move(tools));
    live_windows_.store(windows_.get(), std::memory_order_release);
  }
  return *windows_;
}

bool DropIn::may_ask(Handle comm) {
  if (communicators_ == nullptr) return !apart_;
  const auto& ranks = communicators_->find_or_begin_to_meet(comm).ranks;
  return std::ranges::none_of(ranks, [](int rank) { return rank < 0; });
}

int DropIn::create_window(const WindowMpi& of, Handle comm, WindowMemory memory, std::int64_t unit,
                          const Windows::Make& make) {
  bool any = false;
  const bool gpu = memory.bytes > 0 && is_device(memory.base);
  Handle unused = kNoHandle;
  if (!may_ask(comm)) {
    if (!gpu) return make(memory.base, memory.bytes, unused);
    return fail("MPI_Win_create", comm,
                Status(Code::unsupported, "GPU memory in a window of ranks that may run without sennit", {},
                       "Start sennit run before the launcher, and let no rank be of another job"));
  }
  if (const int code = Windows::any_gpu(*mpi_, comm, gpu, any); code != 0) return code;
  if (!any) return make(memory.base, memory.bytes, unused);
  Status why;
  const int code = make_windows(of).create(comm, memory, unit, make, why);
  return why.ok() ? code : fail("MPI_Win_create", comm, why);
}

int DropIn::one_sided(const WindowMpi& of, Call& call, const Remote& remote, const RealCall& real, void* request) {
  const auto since = std::chrono::steady_clock::now();
  const auto touches = [&](const Part& part) { return part.used() && is_device(part.address); };
  if (gpus() == nullptr && std::ranges::any_of(call.all(), touches)) {
    say(function_of(call), kNoHandle, no_gpus_);
    return of.fail(remote.window, mpi_->err_other());
  }
  const auto outcome = make_windows(of).perform(call, remote, real, request);
  if (!outcome.why.ok())
    log(LogLevel::error,
        fmt::format("rank {}: MPI_{}: {}", rank_, kFamilyNames[std::size_t(call.family)], outcome.why.text()));
  if (!outcome.why.ok() || outcome.how.empty()) return outcome.code;
  count(call, outcome.bytes, outcome.how, since);
  if (explains_) explain_staged(call.function(), outcome.bytes, outcome.how, outcome.detail);
  return outcome.code;
}

int DropIn::refuse_to_attach(const WindowMpi& of, Handle window) {
  log(LogLevel::error, fmt::format("rank {}: MPI_Win_attach: GPU memory cannot be attached to a window: give it to "
                                   "MPI_Win_create",
                                   rank_));
  return of.fail(window, of.err_attach());
}

}  // namespace sennit::shim::mpi
