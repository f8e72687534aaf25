#include "net/hierarchical.h"

namespace sennit::net {

namespace {

using coll::Operation;

const device::Reduction kBytes{device::Type::uint8, device::Operator::sum, 1, 1, 1};

const std::byte* at(const void* data, std::uint64_t bytes) {
  return static_cast<const std::byte*>(data) + bytes;
}
std::byte* at(void* data, std::uint64_t bytes) {
  return static_cast<std::byte*>(data) + bytes;
}

}  // namespace

std::uint64_t Hierarchical::part_of(const Chunk& chunk) const {
  return chunk.whole ? chunk.bytes : chunk.bytes / static_cast<std::uint64_t>(node_.size());
}

Status Hierarchical::run(const Stages& stages, std::uint64_t bytes, int owner) {
  const bool whole = way_ == Way::leaders;
  const std::uint64_t most = whole ? part_ : part_ * static_cast<std::uint64_t>(node_.size());
  const auto chunks = chunks_of(bytes, most, node_.size(), whole);
  return relay_.run(chunks, stages,
                    [&](const Chunk& chunk) { return chunk.whole && node_.rank() != owner ? 0 : part_of(chunk); });
}

Status Hierarchical::call(Operation operation, const void* input, void* output, std::uint64_t bytes,
                          const device::Reduction& reduction, device::Lane& lane, int root) {
  coll::Request request;
  request.operation = operation;
  request.input = input;
  request.output = output;
  request.count = bytes / device::bytes_of(reduction.type);
  request.reduction = reduction;
  request.root = root;
  return collectives_.explain(collectives_.call(request, lane));
}

Stages::Enqueue Hierarchical::sum_of(const void* input, const device::Reduction& reduction, int owner) {
  return [=, this](const Chunk& chunk, std::byte* part, device::Lane& lane) {
    const std::byte* const from = at(input, chunk.begin);
    return chunk.whole ? call(Operation::reduce, from, part, chunk.bytes, reduction, lane, owner)
                       : call(Operation::reduce_scatter, from, part, part_of(chunk), reduction, lane);
  };
}

Status Hierarchical::all_reduce(const void* input, void* output, std::uint64_t bytes,
                                const device::Reduction& reduction) {
  constexpr int kOwner = 0;
  Stages stages;
  stages.down = stages.up = true;
  stages.gather = sum_of(input, reduction, kOwner);
  stages.between = [&](std::byte* part, std::uint64_t size) { return rail_->all_reduce(part, size, reduction); };
  stages.spread = [&](const Chunk& chunk, std::byte* part, device::Lane& lane) {
    std::byte* const to = at(output, chunk.begin);
    return chunk.whole ? call(Operation::broadcast, part, to, chunk.bytes, kBytes, lane, kOwner)
                       : call(Operation::allgather, part, to, part_of(chunk), kBytes, lane);
  };
  return run(stages, bytes, kOwner);
}

Status Hierarchical::reduce(const void* input, void* output, std::uint64_t bytes, const device::Reduction& reduction,
                            Place root) {
  Stages stages;
  stages.down = true;
  stages.gather = sum_of(input, reduction, root.rank);
  stages.between = [&](std::byte* part, std::uint64_t size) {
    return rail_->reduce(part, size, reduction, root.node);
  };
  const auto collect = [&](const Chunk& chunk, std::byte* part, device::Lane& lane) {
    const bool here = node_.rank() == root.rank;
    std::byte* const to = here ? at(output, chunk.begin) : nullptr;
    if (!chunk.whole) return call(Operation::gather, part, to, part_of(chunk), kBytes, lane, root.rank);
    return here ? lane.copy(to, part, chunk.bytes) : Status();
  };
  if (number_ == root.node) {
    stages.up = true;
    stages.spread = collect;
  }
  return run(stages, bytes, root.rank);
}

Status Hierarchical::broadcast(void* data, std::uint64_t bytes, Place root) {
  const bool from_here = number_ == root.node;
  Stages stages;
  stages.down = from_here;
  stages.up = !from_here;
  const auto divide = [&](const Chunk& chunk, std::byte* part, device::Lane& lane) {
    const std::byte* const from = at(data, chunk.begin);
    if (!chunk.whole) return call(Operation::scatter, from, part, part_of(chunk), kBytes, lane, root.rank);
    return node_.rank() == root.rank ? lane.copy(part, from, chunk.bytes) : Status();
  };
  if (from_here) stages.gather = divide;
  stages.between = [&](std::byte* part, std::uint64_t size) { return rail_->broadcast(part, size, root.node); };
  stages.spread = [&](const Chunk& chunk, std::byte* part, device::Lane& lane) {
    std::byte* const to = at(data, chunk.begin);
    return chunk.whole ? call(Operation::broadcast, part, to, chunk.bytes, kBytes, lane, root.rank)
                       : call(Operation::allgather, part, to, part_of(chunk), kBytes, lane);
  };
  return run(stages, bytes, root.rank);
}

}  // namespace sennit::net
