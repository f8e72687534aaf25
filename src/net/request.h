// Describes collectives of a node, in bytes: chunks of a message between nodes are moved by these.
#pragma once

#include <cstdint>

#include "coll/collectives.h"

namespace sennit::net {

/// Stands for the reduction of what is moved, and not summed.
inline constexpr device::Reduction kBytes{device::Type::uint8, device::Operator::sum, 1, 1, 1};

/// `bytes`: a whole number of the reduction's elements.
inline coll::Request request_of(coll::Operation operation, const void* input, void* output, std::uint64_t bytes,
                                const device::Reduction& reduction, int root = coll::kEveryRank) {
  coll::Request request;
  request.operation = operation;
  request.input = input;
  request.output = output;
  request.count = bytes / device::bytes_of(reduction.type);
  request.reduction = reduction;
  request.root = root;
  return request;
}

}  // namespace sennit::net
