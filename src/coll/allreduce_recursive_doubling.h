// Allreduce, recursive doubling: in step k every rank exchanges all it has with the rank whose number differs in bit
// k, and adds; log2(n) steps, each with the whole message.
//
// 1. Each block takes its part of the message, and takes each chunk of it through all steps before the next.
// 2. The input, as its operator wants it (a pre-multiplied sum multiplies here), goes into the output, where the
// chunk
//    is worked on.
// 3. Ranks beyond a power of two give their chunk to a partner and wait for the result.
// 4. Doubling. The chunk of the lower rank is the first source on both sides, so that both get the same bits.
// 5. Partners get the result.
//
// Source: thesis chapter 2.4.2, "recursive doubling".
#pragma once

#include "coll/allreduce_call.h"
#include "coll/fold.h"
#include "coll/links.h"

namespace sennit::coll {

struct AllreduceRecursiveDoubling {
  static constexpr const char* kName = "allreduce_recursive_doubling";
  AllreduceCall call;
  Team team;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    const SliceChunks message(call.bytes, 1, block.index(), block.count(), team.shape.slot_bytes);  // 1.
    const Folded folded(team.rank, team.size);
    Links<Block> links(block, team);
    for (unsigned i = 0; i < message.count(); ++i) {
      const auto chunk = message.of(0, i);
      device::Operands lift;  // 2.
      lift.from[lift.sources++] = call.input + chunk.begin;
      lift.to[lift.destinations++] = call.output + chunk.begin;
      block.reduce(lift, chunk.bytes(), call.reduction, {1, false});
      if (!(folded.core < 0 ? follow(block, links, folded.partner, chunk) : lead(block, links, folded, chunk)))
        return;
    }
    links.finish();
  }

  /// Exchanges nothing: sends the chunk to `peer`, and takes what comes back.
  template <class Block>
  SENNIT_DEVICE bool follow(Block& block, Links<Block>& links, int peer, device::Part chunk) const {
    const Peers partner = Peers::one(peer);
    if (!send(block, links, peer, chunk) || !links.await_arrival(partner)) return false;
    block.copy(call.output + chunk.begin, links.incoming(peer), chunk.bytes());
    links.advance(Peers::none(), partner);
    return true;
  }

  template <class Block>
  SENNIT_DEVICE bool lead(Block& block, Links<Block>& links, const Folded& folded, device::Part chunk) const {
    if (folded.partner >= 0 && !add(block, links, folded.partner, chunk, folded.core_size == 1)) return false;  // 3.
    for (int bit = 1; bit < folded.core_size; bit *= 2) {                                                       // 4.
      const int peer = Folded::rank_of(folded.core ^ bit, team.size, folded.core_size);
      if (!send(block, links, peer, chunk)) return false;
      if (!add(block, links, peer, chunk, bit * 2 == folded.core_size)) return false;
    }
    return folded.partner < 0 || send(block, links, folded.partner, chunk);  // 5.
  }

  template <class Block>
  SENNIT_DEVICE bool send(Block& block, Links<Block>& links, int peer, device::Part chunk) const {
    if (!links.await_room(Peers::one(peer))) return false;
    block.copy(links.outgoing(peer), call.output + chunk.begin, chunk.bytes());
    links.advance(Peers::one(peer), Peers::none());
    return true;
  }

  template <class Block>
  SENNIT_DEVICE bool add(Block& block, Links<Block>& links, int peer, device::Part chunk, bool last) const {
    if (!links.await_arrival(Peers::one(peer))) return false;
    device::Operands operands;
    const void* const own = call.output + chunk.begin;
    operands.from[0] = peer < team.rank ? static_cast<const void*>(links.incoming(peer)) : own;
    operands.from[1] = peer < team.rank ? own : static_cast<const void*>(links.incoming(peer));
    operands.sources = 2;
    operands.to[operands.destinations++] = call.output + chunk.begin;
    block.reduce(operands, chunk.bytes(), call.reduction, {0, last});
    links.advance(Peers::none(), Peers::one(peer));
    return true;
  }
};

}  // namespace sennit::coll
