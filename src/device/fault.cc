#include "device/fault.h"

#include <atomic>

#include <fmt/format.h>

namespace sennit::device {

Status describe(const Fault& fault) {
  auto& raised = const_cast<Word&>(fault.raised);
  if (std::atomic_ref(raised).load(std::memory_order_acquire) != 1) return {};
  const std::string whom = fault.peer == 0 ? "" : fmt::format(" for rank {}", fault.peer - 1);
  const std::string where = fmt::format("operation {}, block {}, wait {}{}: expected count {}, saw {}",
                                        fault.sequence, fault.block, fault.site, whom, fault.expected, fault.seen);
  if (fault.aborted != 0)
    return Status(Code::aborted, "a transfer was ended because the job was aborted", where,
                  "Look for the first error of the job, often on another rank");
  return Status(Code::timed_out, "a transfer waited longer than its limit", where,
                "The other side of the copy did not move: see whether its GPU or process still runs, or raise "
                "SENNIT_TIMEOUT");
}

}  // namespace sennit::device
