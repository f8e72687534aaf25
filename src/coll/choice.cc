#include "coll/choice.h"

#include <algorithm>

#include "base/units.h"

namespace sennit::coll {

namespace {

// A thread for every packet of 8 bytes, in blocks of 256: measured best from 1 KiB to 1 MiB on 2 × H200. Above, two
// blocks an SM of chunks as large as fit; fewer while there is little to move.
constexpr unsigned kThreads = 256;
constexpr std::uint64_t kBytesABlock = kThreads * device::kPacketBytes;

unsigned blocks_for(std::uint64_t bytes, std::uint64_t each) {
  return static_cast<unsigned>(std::clamp<std::uint64_t>((bytes + each - 1) / each, 1, kMostBlocks));
}
/// Bytes that one rank sends another are `bytes`, all at the same time.
Plan by_packets(Algorithm algorithm, std::uint64_t bytes) {
  return {algorithm, blocks_for(bytes, kBytesABlock), kThreads};
}
Plan by_chunks(Algorithm algorithm, std::uint64_t bytes) {
  return {algorithm, blocks_for(bytes, 16 * KiB), kThreads};
}

/// Threads that take turns on a few cores: a block each, and a second only where there is much to overlap.
Plan choose_on_host(Operation operation, const Team& team, std::uint64_t bytes) {
  const Plan small{Algorithm::one_shot_packets, 1};
  if (operation == Operation::allreduce && bytes <= std::min(4 * KiB, most_bytes(operation, small, team)))
    return small;
  const unsigned blocks = bytes >= MiB ? 2 : 1;
  if (operation == Operation::broadcast && bytes > 64 * KiB) return {Algorithm::chain, blocks};
  return {algorithms_of(operation).front(), blocks};
}

Plan choose_allreduce(const Team& team, std::uint64_t bytes) {
  const auto ranks = static_cast<std::uint64_t>(team.size);
  const auto fits = [&](const Plan& plan) { return bytes <= most_bytes(Operation::allreduce, plan, team); };
  const Plan one_shot = by_packets(Algorithm::one_shot_packets, bytes);
  if (bytes * (ranks - 1) <= 384 * KiB && fits(one_shot)) return one_shot;
  const Plan two_shots = by_packets(Algorithm::two_shot_packets, bytes / ranks);
  if (bytes <= 2 * MiB && fits(two_shots)) return two_shots;
  return by_chunks(Algorithm::two_shot, bytes / ranks);
}

}  // namespace

Plan choose(Operation operation, const Team& team, std::uint64_t bytes, device::Kind kind) {
  if (kind == device::Kind::host) return choose_on_host(operation, team, bytes);
  if (operation == Operation::allreduce) return choose_allreduce(team, bytes);
  if (operation == Operation::barrier) return {Algorithm::direct, 1, 32};
  // Nobody knows how much all others send.
  if (operation == Operation::all_to_all_v) return {Algorithm::direct, kMostBlocks, kThreads};
  const auto peers = static_cast<std::uint64_t>(team.size - 1);
  // Packets save some 4 µs of signals where all ranks send at the same time, a third of that where one does, and send
  // every byte twice: 2 × H200 put the limits here.
  const std::uint64_t most_by_packets = has_root(operation) ? 512 * KiB : 1 * MiB;
  // With 256 blocks, of which every thread polls one packet, a graph of such calls took 6 µs a call in most runs and
  // 17 in some; with 128 it takes 6.4 in all. A reduce-scatter, whose threads have more to do, was never seen so.
  Plan packets = by_packets(Algorithm::packets, bytes);
  if (operation != Operation::reduce_scatter) packets.blocks = std::min(packets.blocks, kMostBlocks / 2);
  if (bytes * peers <= most_by_packets && bytes <= most_bytes(operation, packets, team)) return packets;
  switch (operation) {
    case Operation::broadcast:
      return peers == 1 ? by_chunks(Algorithm::chain, bytes) : by_chunks(Algorithm::scatter_allgather, bytes / peers);
    case Operation::reduce: {
      // Two shots bring the root 2 (n - 1) / n of the message instead of n - 1 times all of it, some 7 µs later.
      const std::uint64_t spared = bytes * peers - 2 * bytes * peers / (peers + 1);
      return spared < 2 * MiB ? by_chunks(Algorithm::linear, bytes)
                              : by_chunks(Algorithm::two_shot, bytes / (peers + 1));
    }
    default: return by_chunks(Algorithm::direct, bytes);
  }
}

}  // namespace sennit::coll
