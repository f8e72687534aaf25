// Holds what the algorithms that pair ranks up have in common: the output is the place of work, and a block exchanges
// parts of it with one peer at a time.
#pragma once

#include "coll/links.h"
#include "coll/reduce_call.h"

namespace sennit::coll {

/// Parts that are exchanged fit a slot. What waits returns false when the block has to give up.
template <class Block>
struct Pairwise {
  Block& block;
  Links<Block>& links;
  const ReduceCall& call;
  int rank;

  /// Copies the input of a part, as its operator wants it (a pre-multiplied sum multiplies here), into the output.
  SENNIT_DEVICE void lift(device::Part part) const {
    const auto source = [&](unsigned) -> const void* { return call.input + part.begin; };
    const auto destination = [&](unsigned) { return call.output + part.begin; };
    block.reduce({part.bytes(), 1, 1}, source, destination, call.reduction, {1, false});
  }

  SENNIT_DEVICE bool send(int peer, device::Part part) const {
    if (!links.await_room(Peers::one(peer))) return false;
    block.copy(links.outgoing(peer), call.output + part.begin, part.bytes());
    links.advance(Peers::one(peer), Peers::none());
    return true;
  }

  SENNIT_DEVICE bool receive(int peer, device::Part part) const {
    if (!links.await_arrival(Peers::one(peer))) return false;
    block.copy(call.output + part.begin, links.incoming(peer), part.bytes());
    links.advance(Peers::none(), Peers::one(peer));
    return true;
  }

  /// Adds the peer's part. The lower rank's part is the first source, here and at the peer, so that both get equal
  /// bits.
  SENNIT_DEVICE bool add(int peer, device::Part part, bool last) const {
    if (!links.await_arrival(Peers::one(peer))) return false;
    const auto source = [&](unsigned k) -> const void* {
      return (k == 0) == (peer < rank) ? links.incoming(peer) : call.output + part.begin;
    };
    const auto destination = [&](unsigned) { return call.output + part.begin; };
    block.reduce({part.bytes(), 2, 1}, source, destination, call.reduction, {0, last});
    links.advance(Peers::none(), Peers::one(peer));
    return true;
  }
};

}  // namespace sennit::coll
