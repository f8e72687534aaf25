#include "coll/reduce_alone.h"

#include <algorithm>

#include "base/units.h"
#include "device/launch.h"

namespace sennit::coll {

Status reduce_alone(const ReduceCall& call, device::Lane& lane) {
  if (call.bytes == 0) return {};
  if (call.reduction.op == device::Operator::premultiplied_sum) {
    // A default: blocks of 64 KiB, enough of them to fill a GPU.
    const auto blocks = static_cast<unsigned>(std::clamp<std::uint64_t>(call.bytes / (64 * KiB), 1, kMostBlocks));
    return device::launch(lane, ReduceAlone{call}, blocks);
  }
  return call.input == call.output ? Status() : lane.copy(call.output, call.input, call.bytes);
}

}  // namespace sennit::coll
