// Collectives of a node, in bytes: what chunks of a message between nodes are made of.
#pragma once

#include <cstdint>

#include "coll/collectives.h"

namespace sennit::net {

/// Of what is moved, and not summed.
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
