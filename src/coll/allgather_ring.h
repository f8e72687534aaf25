// Allgather, ring: every rank's message travels once around; each link carries n - 1 messages, whatever the number of
// ranks.
//
// 1. Each block takes its part of every message, a slot's worth of each at a time, and takes that all the way around
//    before the next.
// 2. It sends its own chunk to the next rank, and keeps it.
// 3. n - 1 times it keeps what comes from the rank before, and, but for the last, passes it on.
//
// Source: thesis chapter 2.4.2, the second half of "ring".
#pragma once

#include "coll/links.h"
#include "coll/slice_chunks.h"

namespace sennit::coll {

struct AllgatherRing {
  static constexpr const char* kName = "allgather_ring";
  const std::byte* input = nullptr;
  std::byte* output = nullptr;  ///< a message for each rank, side by side; the input may be the own one
  std::uint64_t bytes = 0;      ///< of a message
  Team team;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    const SliceChunks message(bytes, block.index(), block.count(), team.shape.slot_bytes);  // 1.
    const int next = team.after(1), before = team.after(team.size - 1);
    const Peers to_next = Peers::one(next), from_before = Peers::one(before);
    Links<Block> links(block, team);
    for (unsigned i = 0; i < message.count(); ++i) {
      const auto chunk = message.of(0, i);
      if (!links.await_room(to_next)) return;  // 2.
      block.copy(links.outgoing(next), input + chunk.begin, chunk.bytes(), device::Flight::much);
      links.advance(to_next, Peers::none());
      if (std::byte* const own = output_of(team.rank); own != input)
        block.copy(own + chunk.begin, input + chunk.begin, chunk.bytes(), device::Flight::much);
      for (int step = 1; step < team.size; ++step) {  // 3.
        const bool passes_on = step < team.size - 1;
        if (!links.await(from_before, passes_on ? to_next : Peers::none())) return;
        if (passes_on) block.copy(links.outgoing(next), links.incoming(before), chunk.bytes(), device::Flight::much);
        block.copy(output_of(team.after(team.size - step)) + chunk.begin, links.incoming(before), chunk.bytes(),
                   device::Flight::much);
        links.advance(passes_on ? to_next : Peers::none(), from_before);
      }
    }
    links.finish();
  }

  SENNIT_DEVICE std::byte* output_of(int rank) const { return output + static_cast<unsigned>(rank) * bytes; }
};

}  // namespace sennit::coll
