// Allgather, ring: every rank's message travels once around; each link carries n - 1 messages, whatever the number of
// ranks.
//
// 1. Each block takes its part of every message, a slot's worth of each at a time, and takes that all the way around,
//    two in turn.
// 2. It sends its own chunk to the next rank, and keeps it.
// 3. n - 1 times it keeps what comes from the rank before, and, but for the last, passes it on.
//
// Source: thesis chapter 2.4.2, the second half of "ring".
#pragma once

#include "coll/in_turns.h"
#include "coll/links.h"
#include "coll/slice_chunks.h"

namespace sennit::coll {

struct AllgatherRing {
  static constexpr const char* kName = "allgather_ring";
  const std::byte* input = nullptr;
  std::byte* output = nullptr;  ///< a message for each rank, side by side; the input may be the own one
  std::uint64_t bytes = 0;      ///< of a message
  Partition partition;
  Team team;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    Links<Block> links(block, team, Layout::single);
    const auto message = SliceChunks(bytes, partition, block.index(), links.room()).in_pairs();  // 1.
    const int steps = team.size - 1, next = team.after(1), before = team.after(steps);
    const Peers to_next = Peers::one(next), from_before = Peers::one(before);
    const bool done = in_turns(message.count(), steps + 1, [&](unsigned i, int step) {
      const bool begins = step == 0, ends = step == steps;
      if (!links.await(begins ? Peers::none() : from_before, ends ? Peers::none() : to_next)) return false;
      const auto chunk = message.of(0, i);
      const std::byte* const from = begins ? input + chunk.begin : links.incoming(before);  // 2., or 3.
      std::byte* const to = output_of(team.after((team.size - step) % team.size)) + chunk.begin;
      if (!ends) block.copy(links.outgoing(next), from, chunk.bytes());
      if (to != from) block.copy(to, from, chunk.bytes());
      links.advance(ends ? Peers::none() : to_next, begins ? Peers::none() : from_before);
      return true;
    });
    if (done) links.finish();
  }

  SENNIT_DEVICE std::byte* output_of(int rank) const { return output + static_cast<unsigned>(rank) * bytes; }
};

}  // namespace sennit::coll
