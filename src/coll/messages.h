// Messages between pairs of ranks, any number of them at the same time. Only the two ranks of a message know of it:
// no rank has to come for others, and each may put its messages into launches as it likes.
//
// 1. Each block takes its part of every message; sender and receiver cut it alike.
// 2. It copies what a rank sends to itself.
// 3. It waits until a chunk has come from any peer, or a slot has become free for the next one to any.
// 4. It copies all chunks for which that is so, and tells their peers; and again, until there are no more.
//
// Messages one way between two ranks follow each other in their order, which is the same on both sides. No message
// waits for any other: where ranks would not wait for each other if all messages of a launch were moved at once, they
// do not here.
//
// Chunks and counts are those of links.h, in slots of which a block has more of each peer, and smaller ones. Launches
// that share their blocks' slots with other programs meet, as links.h says, and then every rank must make them; those
// of blocks that no other program has do not.
#pragma once

#include <cstdint>

#include "coll/links.h"
#include "coll/message.h"
#include "device/part.h"

namespace sennit::coll {

/// Moves at most `kMost` messages: all are arguments of the kernel.
template <unsigned kMost>
struct Messages {
  static constexpr const char* kName = "messages";
  static constexpr bool kEarly = true, kManyBlocks = true;
  static constexpr unsigned kMostMessages = kMost;
  enum WaitId : device::Word { kUse = 56, kArrival = 57, kRoom = 58 };

  /// A rank has two lines with each: an even one, of what it sends, and an odd one, of what it gets. They are
  /// numbered from its own on, so that all ranks do not turn to the same peer first.
  static constexpr unsigned kLines = 2 * kMostRanks;

  /// A message, without its peer.
  struct One {
    std::byte* at;
    std::uint64_t bytes;
    std::uint64_t of_block;  ///< bytes that each block has of it, but the last ones
  };
  One messages[kMost];
  std::uint8_t ends[kLines];  ///< line `i` has those from the end of the line before to ends[i], in their order
  Team team;
  MessageSlots slots;
  unsigned first_block;  ///< whose slots and counts block 0 has
  bool shares_slots;     ///< with other programs

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    static_assert(kMost < 256 && kLines <= 32);
    const unsigned home = first_block + block.index();
    BlockCounts& kept = team.counts[home];
    Progress& progress = block.template shared<Progress>();
    block.each(lines(), [&](unsigned i) {  // 1.
      progress.count[i] = block.load(is_sent(i) ? &kept.sent[peer(i)] : &kept.taken[peer(i)]);
      progress.at[i] = 0;
      progress.now[i] = begin(i);
      skip_empty(progress, i, block.index());
    });
    if (shares_slots && !own_the_slots(block)) return;

    for (unsigned k = 0; k < ends[0]; ++k) {  // 2.
      const One &from = messages[k], &to = messages[ends[0] + k];
      const auto part = device::part_at(to.bytes, to.of_block, block.index());
      if (to.at != from.at) block.copy(to.at + part.begin, from.at + part.begin, part.bytes());
    }

    for (;;) {
      const std::uint32_t ready = block.await_any(lines(), [&](unsigned i) -> device::Wait {  // 3.
        if (progress.now[i] == ends[i]) return {};
        const device::Word next = progress.count[i] + 1;
        if (is_sent(i)) return {team.consumed(team.rank, peer(i), home), next - slots.depth, kRoom, peer(i)};
        return {team.produced(team.rank, peer(i), home), next, kArrival, peer(i)};
      });
      if (ready == 0) break;
      for (unsigned done = 0, all = count_of(ready); done < all; done += device::kMostOperands)  // 4.
        block.copy_each(least(all - done, device::kMostOperands), [&](unsigned k) -> device::Copy {
          const unsigned i = at(ready, done + k);
          const One& one = messages[progress.now[i]];
          const auto part = chunk(progress, i, block.index());
          std::byte* const slot = slot_of(i, home, progress.count[i]);
          if (is_sent(i)) return {slot, one.at + part.begin, part.bytes()};
          return {one.at + part.begin, slot, part.bytes()};
        });
      block.signal_each(lines(), [&](unsigned i) -> device::Signal {
        if ((ready >> i & 1) == 0) return {};
        progress.at[i] += slots.bytes;
        skip_empty(progress, i, block.index());
        const device::Word count = ++progress.count[i];
        if (is_sent(i)) return {team.produced(peer(i), team.rank, home), count};
        return {team.consumed(peer(i), team.rank, home), count};
      });
    }
    block.each(lines(),
               [&](unsigned i) { (is_sent(i) ? kept.sent[peer(i)] : kept.taken[peer(i)]) = progress.count[i]; });
  }

 private:
  /// Says how far a block has come, by line. A line's own thread alone writes it, and what others read of it they
  /// read between the wait and the signals.
  struct Progress {
    std::uint64_t at[kLines];  ///< bytes of its part that are behind it
    device::Word count[kLines];
    std::uint8_t now[kLines];  ///< which message it is at
  };

  SENNIT_DEVICE unsigned lines() const { return 2 * team.ranks(); }
  SENNIT_DEVICE static bool is_sent(unsigned line) { return line % 2 == 0; }
  SENNIT_DEVICE int peer(unsigned line) const { return team.after(static_cast<int>(line / 2)); }
  SENNIT_DEVICE std::uint8_t begin(unsigned line) const { return line == 0 ? std::uint8_t{0} : ends[line - 1]; }
  SENNIT_DEVICE static unsigned least(unsigned a, unsigned b) { return a < b ? a : b; }

  /// Returns the next chunk, up to a slot long, of the block's part of the line's message.
  SENNIT_DEVICE device::Part chunk(const Progress& progress, unsigned line, unsigned block) const {
    const One& one = messages[progress.now[line]];
    const auto part = device::part_at(one.bytes, one.of_block, block);
    const std::uint64_t first = part.begin + progress.at[line], last = first + slots.bytes;
    return {first < part.end ? first : part.end, last < part.end ? last : part.end};
  }
  /// Goes on to the next message of which the block has a part that is left. A rank's own ones are done already.
  SENNIT_DEVICE void skip_empty(Progress& progress, unsigned line, unsigned block) const {
    if (line < 2) progress.now[line] = ends[line];
    while (progress.now[line] != ends[line] && chunk(progress, line, block).bytes() == 0) {
      ++progress.now[line];
      progress.at[line] = 0;
    }
  }
  SENNIT_DEVICE std::byte* slot_of(unsigned line, unsigned home, device::Word count) const {
    const int to = is_sent(line) ? peer(line) : team.rank, from = is_sent(line) ? team.rank : peer(line);
    return team.slot(Layout::direct, to, from, home, 0) + count % slots.depth * slots.bytes;
  }

  SENNIT_DEVICE static unsigned count_of(std::uint32_t bits) {
    unsigned count = 0;
    for (; bits != 0; bits &= bits - 1) ++count;
    return count;
  }
  /// Returns the number of bit `k` of those that are set.
  SENNIT_DEVICE static unsigned at(std::uint32_t bits, unsigned k) {
    while (k-- != 0) bits &= bits - 1;
    unsigned number = 0;
    while ((bits >> number & 1) == 0) ++number;
    return number;
  }

  template <class Block>
  SENNIT_DEVICE bool own_the_slots(Block& block) const {
    return Meetings(block, team).own_the_slots(use_of_slots(Layout::direct, Way::push, kOfMessages), kUse);
  }
};

/// FewMessages is what most launches need, and every launch can be cut into such.
using FewMessages = Messages<2 * kMostRanks>;
using ManyMessages = Messages<96>;

}  // namespace sennit::coll
