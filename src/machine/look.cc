#include "machine/look.h"

namespace sennit::machine {

Result<Machine> Look::at(const std::vector<GpuExtra>& extras) {
  const std::lock_guard lock(mutex_);
  if (found_ && found_->extras == extras) return found_->machine;
  auto seen = look_(extras);
  if (seen.ok()) found_ = Found{extras, *seen};
  return seen;
}

}  // namespace sennit::machine
