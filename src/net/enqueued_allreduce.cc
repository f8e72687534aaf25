#include "net/enqueued_allreduce.h"

#include <algorithm>

#include "net/request.h"

namespace sennit::net {

using coll::Operation;

Result<std::unique_ptr<EnqueuedAllreduce>> EnqueuedAllreduce::create(path::Node& node, coll::Collectives& collectives,
                                                                     LaneRail& rail, Options options) {
  std::unique_ptr<EnqueuedAllreduce> made(new EnqueuedAllreduce(node, collectives, rail, options));
  if (auto agreed = comm::agree(node.group().exchange(), made->prepare(), {}); !agreed) return agreed.status();
  if (auto status = collectives.meet(); !status) return status;
  return made;
}

Status EnqueuedAllreduce::prepare() {
  device::Executor& executor = node_.executor();
  const int device = node_.device();
  // Chunks are rounded up to grains of all ranks; what is not divided is shorter than that.
  const std::uint64_t room = options_.part + kGrain * static_cast<unsigned>(node_.size());
  for (Slot& slot : slots_) {
    auto part = executor.allocate(device, room);
    auto gathered = executor.event(device), crossed = executor.event(device);
    for (const Status& status : {part.status(), gathered.status(), crossed.status()})
      if (!status.ok()) return status;
    slot.part = std::move(*part);
    slot.gathered = std::move(*gathered);
    slot.crossed = std::move(*crossed);
  }
  return {};
}

std::vector<Chunk> EnqueuedAllreduce::chunks(std::uint64_t bytes) const {
  return chunks_of(bytes, options_.part * static_cast<unsigned>(node_.size()), node_.size(), false);
}

std::uint64_t EnqueuedAllreduce::part_of(const Chunk& chunk) const {
  return chunk.whole ? chunk.bytes : chunk.bytes / static_cast<unsigned>(node_.size());
}

Status EnqueuedAllreduce::call(const void* input, void* output, std::uint64_t bytes,
                               const device::Reduction& reduction, device::Lane& lane) {
  if (const auto capture = rail_.lane().capture(); capture != 0 && capture != lane.capture())
    return Status(Code::unsupported, "a capture that has not ended holds what crosses the nodes", {},
                  "End that capture before other calls of the communicator");
  const std::vector<Chunk> all = chunks(bytes);
  // A slot is free again for the chunk after the next one: its spread is before that one's gather on the lane. So it
  // is from call to call, since collectives of the node follow one another on whatever lanes.
  const auto slot = [&](std::size_t chunk) -> Slot& { return slots_[chunk % kSlots]; };
  for (std::size_t turn = 0; turn < all.size() + 1; ++turn) {
    if (turn < all.size()) {
      if (auto status = gather(all[turn], slot(turn), input, reduction, lane); !status) return status;
      if (auto status = cross(all[turn], slot(turn), reduction); !status) return status;
    }
    if (turn == 0) continue;
    if (auto status = spread(all[turn - 1], slot(turn - 1), output, lane); !status) return status;
  }
  return {};
}

Status EnqueuedAllreduce::gather(const Chunk& chunk, Slot& slot, const void* input,
                                 const device::Reduction& reduction, device::Lane& lane) {
  const std::byte* const from = static_cast<const std::byte*>(input) + chunk.begin;
  const auto request = chunk.whole
                           ? request_of(Operation::reduce, from, slot.part.data(), chunk.bytes, reduction, kOwner)
                           : request_of(Operation::reduce_scatter, from, slot.part.data(), part_of(chunk), reduction);
  auto status = collectives_.call(request, lane);
  return status.ok() && has_part(chunk) ? lane.record(*slot.gathered) : status;
}

Status EnqueuedAllreduce::cross(const Chunk& chunk, Slot& slot, const device::Reduction& reduction) {
  if (!has_part(chunk)) return {};
  auto status = rail_.lane().wait(*slot.gathered);
  if (status.ok()) status = rail_.all_reduce(slot.part.data(), part_of(chunk), reduction);
  return status.ok() ? rail_.lane().record(*slot.crossed) : status;
}

Status EnqueuedAllreduce::spread(const Chunk& chunk, Slot& slot, void* output, device::Lane& lane) {
  if (has_part(chunk))
    if (auto status = lane.wait(*slot.crossed); !status) return status;
  std::byte* const to = static_cast<std::byte*>(output) + chunk.begin;
  return collectives_.call(chunk.whole
                               ? request_of(Operation::broadcast, slot.part.data(), to, chunk.bytes, kBytes, kOwner)
                               : request_of(Operation::allgather, slot.part.data(), to, part_of(chunk), kBytes),
                           lane);
}

}  // namespace sennit::net
