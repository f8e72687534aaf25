#include "coll/reduce_rows.h"

#include <algorithm>

#include "coll/reduce_alone.h"
#include "device/launch.h"

namespace sennit::coll {

Status load_reduce_rows(device::Executor& executor, int device) {
  return executor.load(device::program_of<ReduceRows>(), device);
}

Status reduce_rows(std::span<const std::byte* const> rows, std::byte* output, std::uint64_t bytes,
                   const device::Reduction& reduction, device::Lane& lane) {
  if (bytes == 0 || rows.empty()) return {};
  ReduceRows step{{}, 0, output, bytes, reduction};
  std::size_t next = 0;
  do {
    // The result so far is the first of the next rows.
    step.count = next != 0 ? 1 : 0;
    if (next != 0) step.rows[0] = output;
    while (step.count < device::kMostOperands && next < rows.size()) step.rows[step.count++] = rows[next++];
    if (auto status = device::launch(lane, step, blocks_alone(bytes)); !status) return status;
  } while (next < rows.size());
  return {};
}

}  // namespace sennit::coll
