#include "path/event_pool.h"

#include <algorithm>

namespace sennit::path {

Result<SharedEvent> EventPool::next(device::Executor& executor, int device) {
  auto& made = made_[device];
  const auto free = std::ranges::find_if(made, [](const SharedEvent& event) { return event.use_count() == 1; });
  if (free != made.end()) return *free;
  auto event = executor.event(device);
  if (!event) return event.status();
  return made.emplace_back(std::move(*event));
}

}  // namespace sennit::path
