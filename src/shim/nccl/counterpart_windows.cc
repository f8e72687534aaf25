// Windows that the program has registered with NCCL, and what calls between them gain.
//
// NCCL lets a rank give up a window and free its memory without a word to the others, as soon as its own calls are
// done. So only such memory is used here as may be freed while peers have it mapped, as that of ncclMemAlloc, and
// each rank unmaps that of the others by itself. That a call's buffers lie in windows on all ranks or on none, and at
// the same offset, NCCL demands of the program.
#include <utility>

#include "shim/nccl/counterpart.h"

namespace sennit::shim::nccl {

Status Counterpart::open_window(void* data, std::uint64_t bytes, WindowHandle handle) {
  if (any_siblings_) return Status(Code::unsupported, "ranks of one process make such calls one after another");
  unmap_left();
  // What NCCL gives no handle for, the program cannot give up: then this is no window for any rank.
  if (handle == nullptr) bytes = 0;
  auto window = node_->open(bytes != 0 ? data : nullptr, bytes);
  if (!window) return window.status();  // so no rank gets further than this
  bool used = false;
  if ((*window)->outlives_owners()) {
    auto status = collectives_->use(*window);
    if (!status.ok() && status.code() != Code::invalid_argument) {
      // It was not heard whether all ranks will use it: calls of those that do would wait for this one's in vain.
      node_->group().abort(status);
      return status;
    }
    used = bytes != 0 && collectives_->uses(**window);
  }
  if (!used) {
    if (auto status = node_->close(*window); !status) return status;
    return Status(Code::unsupported,
                  "it is not of cuMemCreate, or cannot be mapped, or is not as long, on every rank", {},
                  "Allocate it with ncclMemAlloc");
  }
  const std::lock_guard lock(mutex_);
  windows_.emplace(handle, std::move(*window));
  judged_verdict_ = nullptr;
  return {};
}

void Counterpart::close_window(WindowHandle handle) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = windows_.find(handle);
    if (found == windows_.end()) return;
    collectives_->forget(*found->second);
    left_.push_back(std::move(found->second));
    windows_.erase(found);
    judged_verdict_ = nullptr;
  }
  unmap_left();
}

void Counterpart::unmap_left() {
  // A graph may run, now or later.
  if (has_graphs()) return;
  if (const auto idle = collectives_->idle(); idle.ok() && !*idle) return;
  const std::lock_guard lock(mutex_);
  for (const auto& window : std::exchange(left_, {})) node_->forget(window);
}

void Counterpart::unmap_windows() {
  const std::lock_guard lock(mutex_);
  for (const auto& [handle, window] : std::exchange(windows_, {})) {
    collectives_->forget(*window);
    left_.push_back(window);
  }
  for (const auto& window : std::exchange(left_, {})) node_->forget(window);
}

bool Counterpart::is_between_windows(const Call& call, const device::Reduction& reduction) const {
  if (windows_.empty()) return false;
  const auto* const input = static_cast<const std::byte*>(call.entry == Entry::bcast ? call.output : call.input);
  return collectives_->reaches({operation_of(call.entry),
                                input,
                                static_cast<std::byte*>(call.output),
                                call.count * device::bytes_of(reduction.type),
                                call.root,
                                reduction,
                                {}});
}

// Each library has other ways between windows, so times of ordinary buffers say little of them: NCCL's allreduce of
// 64 MiB takes 376 µs there instead of 326, and sennit's by 32 blocks 327 instead of 371 (4 × H100).
//
// Where nothing was tuned between windows, what is sennit's without them is so with them, and the model says whether
// they help. Where they do not, the plan that measured fastest without them: not the one that is current there, since
// ranks may ask for it at different times.
Verdict Counterpart::decide_between_windows(const Verdict& otherwise, const coll::Case& which) {
  coll::Case between = which;
  between.windows = true;
  if (switches_.take == Take::measured && !chooser_->measured(between).empty()) return decide(between);
  if (!otherwise.taken) return otherwise;
  if (const coll::Plan plan = collectives_->plan(between); coll::needs_windows(plan.algorithm))
    return {true, coll::name(plan)};
  const auto measured = chooser_->measured(which);
  const bool has_plan = !measured.empty() && !measured.front().plans.empty();
  const coll::Plan plan = has_plan ? measured.front().plans.front().plan : collectives_->plan(which);
  return {true, otherwise.how, plan};
}

}  // namespace sennit::shim::nccl
