// Memory that a program registers with NCCL as windows.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "shim/nccl/drop_in.h"

namespace sennit::shim::nccl {

int DropIn::open_window(const Registering& what, int flags, const std::function<int()>& make) {
  const int code = from_nccl(make());
  if (code != kSuccess || (flags & kWindowSymmetric) == 0 || what.made == nullptr) return code;
  if (open().depth > 0)
    open().windows.push_back(what);
  else
    open_windows({what});
  return code;
}

void DropIn::open_windows(std::vector<Registering> windows) {
  std::vector<std::pair<std::shared_ptr<CommState>, const Registering*>> state;
  for (const Registering& each : windows)
    // Where it does not block NCCL may not be done.
    if (auto found = settled(each.comm);
        found != nullptr && found->counterpart != nullptr && found->counterpart->all_block())
      state.emplace_back(std::move(found), &each);
  // A group may have its communicators in another order on each rank; those of one are in order.
  std::ranges::stable_sort(state, {}, [](const auto& each) { return each.first->key; });
  for (const auto& [one, what] : state) {
    // In a group with others that do not block, NCCL may still be at work.
    (void)wait_for_nccl(one.get(), what->comm);
    if (auto status = one->counterpart->open_window(what->data, what->bytes, *what->made); !status)
      log(LogLevel::info, fmt::format("a window of {} bytes is used by NCCL alone: {}", what->bytes, status.text()));
  }
}

int DropIn::close_window(Comm comm, WindowHandle window) {
  if (const auto state = comms_.find(comm);
      state != nullptr && is_made(state->phase()) && state->counterpart != nullptr)
    state->counterpart->close_window(window);
  return from_nccl(nccl_.comm_window_deregister(comm, window));
}

}  // namespace sennit::shim::nccl
