#include "coll/allreduce_choice.h"

#include <algorithm>

#include "base/units.h"

namespace sennit::coll {

namespace {

unsigned blocks_for(std::uint64_t bytes, std::uint64_t each, unsigned most) {
  return static_cast<unsigned>(std::clamp<std::uint64_t>((bytes + each - 1) / each, 1, most));
}

}  // namespace

AllreducePlan choose_allreduce(const Team& team, std::uint64_t bytes, device::Kind kind) {
  if (kind == device::Kind::host) {
    // Threads that take turns on a few cores: a block each, and a second only where there is much to overlap.
    if (bytes <= 4 * KiB) return {Allreduce::one_shot_packets, 1};
    return {Allreduce::two_shot, bytes >= MiB ? 2u : 1u};
  }
  // A thread for every packet of 8 bytes, in blocks of 256: measured best from 1 KiB to 1 MiB on 2 × H200. Above, two
  // blocks an SM of chunks as large as fit; fewer while there is little to move.
  constexpr unsigned kThreads = 256;
  constexpr std::uint64_t kBytesABlock = kThreads * device::kPacketBytes;
  const auto ranks = static_cast<std::uint64_t>(team.size);
  const auto fits = [&](const AllreducePlan& plan) { return bytes <= most_bytes(plan.algorithm, team, plan.blocks); };
  const AllreducePlan one_shot{Allreduce::one_shot_packets, blocks_for(bytes, kBytesABlock, kMostBlocks), kThreads};
  if (bytes * (ranks - 1) <= 384 * KiB && fits(one_shot)) return one_shot;
  const AllreducePlan packets{Allreduce::two_shot_packets, blocks_for(bytes / ranks, kBytesABlock, kMostBlocks),
                              kThreads};
  if (bytes <= 2 * MiB && fits(packets)) return packets;
  return {Allreduce::two_shot, blocks_for(bytes / ranks, 16 * KiB, kMostBlocks), kThreads};
}

}  // namespace sennit::coll
