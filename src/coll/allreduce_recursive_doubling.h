// Allreduce, recursive doubling: in step k every rank exchanges all it has with the rank whose number differs in bit
// k, and adds; log2(n) steps, each with the whole message.
//
// 1. Each block takes its part of the message, and takes each chunk of it through all steps before the next.
// 2. The input, as its operator wants it (a pre-multiplied sum multiplies here), goes into the output, where
//    the chunk is worked on.
// 3. Ranks beyond a power of two give their chunk to a partner and wait for the result.
// 4. Doubling.
// 5. Partners get the result.
//
// Source: thesis chapter 2.4.2, "recursive doubling".
#pragma once

#include "coll/fold.h"
#include "coll/links.h"
#include "coll/pairwise.h"
#include "coll/reduce_call.h"

namespace sennit::coll {

struct AllreduceRecursiveDoubling {
  static constexpr const char* kName = "allreduce_recursive_doubling";
  ReduceCall call;
  Team team;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    Links<Block> links(block, team, Layout::mesh);
    const SliceChunks message(call.bytes, call.partition, block.index(), links.room());  // 1.
    const Folded folded(team.rank, team.size);
    const Pairwise<Block> pairs{block, links, call, team.rank};
    for (unsigned i = 0; i < message.count(); ++i) {
      const auto chunk = message.of(0, i);
      pairs.lift(chunk);  // 2.
      const bool done = folded.core < 0
                            ? pairs.send(folded.partner, chunk) && pairs.receive(folded.partner, chunk)  // 3. and 5.
                            : double_up(pairs, folded, chunk);
      if (!done) return;
    }
    links.finish();
  }

  template <class Block>
  SENNIT_DEVICE bool double_up(const Pairwise<Block>& pairs, const Folded& folded, device::Part chunk) const {
    if (folded.partner >= 0 && !pairs.add(folded.partner, chunk, false)) return false;  // 3.
    for (int bit = 1; bit < folded.core_size; bit *= 2) {                               // 4.
      const int peer = Folded::rank_of(folded.core ^ bit, team.size, folded.core_size);
      if (!pairs.send(peer, chunk) || !pairs.add(peer, chunk, bit * 2 == folded.core_size)) return false;
    }
    return folded.partner < 0 || pairs.send(folded.partner, chunk);  // 5.
  }
};

}  // namespace sennit::coll
