#include "device/fault.h"

#include <atomic>

#include <fmt/format.h>

namespace sennit::device {

Status describe(const Fault& fault) {
  auto& raised = const_cast<Word&>(fault.raised);
  if (std::atomic_ref(raised).load(std::memory_order_acquire) != 1) return {};
  const std::string where = fmt::format("operation {}, block {}, wait {}: expected count {}, saw {}", fault.sequence,
                                        fault.block, fault.wait_id, fault.expected, fault.seen);
  if (fault.aborted != 0)
    return Status(Code::aborted, "a transfer was ended because the job was aborted", where,
                  "Look for the first error of the job, often on another rank");
  if (fault.peer != 0)
    return Status(Code::timed_out, fmt::format("a kernel waited longer than its limit for rank {}", fault.peer - 1),
                  where, "See whether the process and the GPU of that rank still run, or raise SENNIT_TIMEOUT");
  return Status(Code::timed_out, "a transfer waited longer than its limit", where,
                "The other side of the copy did not move: see whether its GPU or process still runs, or raise "
                "SENNIT_TIMEOUT");
}

}  // namespace sennit::device
