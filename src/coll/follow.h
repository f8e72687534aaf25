// Does the work of a rank for which another one reduces: it sends its chunks there, and takes the finished ones if it
// wants them.
#pragma once

#include "coll/links.h"
#include "coll/reduce_call.h"

namespace sennit::coll {

/// The steps of two chunks overlap: the next one is sent before the result of the one before is waited for. False:
/// the block has to give up.
template <class Block>
SENNIT_DEVICE bool follow(Block& block, const ReduceCall& call, const SliceChunks& message, Links<Block>& links,
                          int rank, int root) {
  const Peers to = Peers::one(root);
  const unsigned chunks = message.count();
  for (unsigned step = 0; step <= chunks && chunks != 0; ++step) {
    if (step < chunks) {
      if (!links.await_room(to)) return false;
      const auto chunk = message.of(0, step);
      block.copy(links.outgoing(root), call.input + chunk.begin, chunk.bytes());
      links.advance(to, Peers::none());
    }
    if (step >= 1 && call.wants(rank)) {
      if (!links.await_arrival(to)) return false;
      const auto chunk = message.of(0, step - 1);
      block.copy(call.output + chunk.begin, links.incoming(root), chunk.bytes());
      links.advance(Peers::none(), to);
    }
  }
  return true;
}

}  // namespace sennit::coll
