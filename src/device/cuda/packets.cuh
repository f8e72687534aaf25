// Moves packets in a CUDA thread block: a thread moves one packet of each message at a time, and has those of all
// messages in flight before it looks at the first.
#pragma once

#include <cstdint>

#include "device/block.h"
#include "device/cuda/instructions.cuh"

namespace sennit::device::cuda {

/// Returns what packet `i` of a message carries. Takes whole packets of aligned memory by one access.
__device__ inline Pack<8> take(const void* message, std::uint64_t i, std::uint64_t bytes) {
  const auto* const from = static_cast<const unsigned char*>(message) + i * kPacketBytes;
  const std::uint64_t at = i * kPacketBytes;
  if (at + kPacketBytes <= bytes && reinterpret_cast<std::uintptr_t>(from) % 8 == 0) return load<8, 8>(from);
  Pack<8> data{};
  for (unsigned b = 0; b < kPacketBytes; ++b)
    if (at + b < bytes) data.word[b / 4] |= static_cast<std::uint32_t>(__ldcv(from + b)) << (b % 4 * 8);
  return data;
}
__device__ inline void leave(void* message, std::uint64_t i, std::uint64_t bytes, const Pack<8>& data) {
  auto* const to = static_cast<unsigned char*>(message) + i * kPacketBytes;
  const std::uint64_t at = i * kPacketBytes;
  if (at + kPacketBytes <= bytes && reinterpret_cast<std::uintptr_t>(to) % 8 == 0) return store<8, 8>(to, data);
  for (unsigned b = 0; b < kPacketBytes; ++b)
    if (at + b < bytes) to[b] = static_cast<unsigned char>(data.word[b / 4] >> (b % 4 * 8));
}

template <unsigned kMost, class Message>
__device__ void send_packets(unsigned count, Message message, PacketUse use) {
  PacketSend sends[kMost];
  std::uint64_t most = 1;
#pragma unroll
  for (unsigned k = 0; k < kMost; ++k) {
    sends[k] = k < count ? message(k) : PacketSend{};
    if (packets_of(sends[k].bytes) > most) most = packets_of(sends[k].bytes);
  }
  for (std::uint64_t i = threadIdx.x; i < most; i += blockDim.x) {
    Pack<8> data[kMost];  // each is set, if only to nothing: see load_if()
#pragma unroll
    for (unsigned k = 0; k < kMost; ++k) data[k] = k < count ? take(sends[k].from, i, sends[k].bytes) : Pack<8>{};
#pragma unroll
    for (unsigned k = 0; k < kMost; ++k)
      if (k < count && i < packets_of(sends[k].bytes)) put(sends[k].to + use.offset + i, data[k], use.tag);
  }
}

/// Polls of a packet one upon the other, and how long a thread rests before each later one. Tens of thousands that
/// poll without rest slow down the stores that they wait for, and it stays so call after call (4 × H200, ranks that
/// start 300 µs apart: allreduce of 256 KiB by one_shot_packets of 128 blocks 275 instead of 9.5 µs). Defaults.
constexpr unsigned kEagerPolls = 16, kRestNs = 200;

/// Waits for a packet of each of `count` messages, and clears it: gone(expected, seen, peer) says now and then
/// whether to give up. from(k) is where message k's is; null: it has none.
template <unsigned kMost, class From, class Peer, class Gone>
__device__ bool get_packets(Pack<8> (&data)[kMostOperands], unsigned count, Word tag, From from, Peer peer,
                            Gone gone) {
  Packet got[kMost];
#pragma unroll
  for (unsigned k = 0; k < kMost; ++k) {
    Packet* const packet = k < count ? from(k) : nullptr;
    got[k] = packet != nullptr ? poll(packet) : Packet{};
  }
#pragma unroll
  for (unsigned k = 0; k < kMost; ++k) {
    Packet* const packet = k < count ? from(k) : nullptr;
    data[k] = {};
    if (packet == nullptr) continue;
    for (unsigned spin = 1; got[k].tag0 != tag || got[k].tag1 != tag; ++spin) {
      if (spin > kEagerPolls) __nanosleep(kRestNs);
      if (spin % Gone::kSpins == 0 && gone(tag, got[k].tag0, peer(k))) return false;
      got[k] = poll(packet);
    }
    put(packet, {}, 0);
    data[k] = {{got[k].data0, got[k].data1}};
  }
  return true;
}

template <unsigned kMost, class Message, class Gone>
__device__ bool receive_packets(unsigned count, Message message, PacketUse use, Gone gone) {
  PacketReceive receives[kMost];
  std::uint64_t most = 1;
#pragma unroll
  for (unsigned k = 0; k < kMost; ++k) {
    receives[k] = k < count ? message(k) : PacketReceive{};
    if (packets_of(receives[k].bytes) > most) most = packets_of(receives[k].bytes);
  }
  for (std::uint64_t i = threadIdx.x; i < most; i += blockDim.x) {
    Pack<8> data[kMostOperands];
    const auto from = [&](unsigned k) {
      return i < packets_of(receives[k].bytes) ? receives[k].from + use.offset + i : nullptr;
    };
    const auto peer = [&](unsigned k) { return message(k).peer; };
    if (!get_packets<kMost>(data, count, use.tag, from, peer, gone)) return false;
#pragma unroll
    for (unsigned k = 0; k < kMost; ++k)
      if (k < count) leave(receives[k].to, i, receives[k].bytes, data[k]);
  }
  return true;
}

template <unsigned kMost, class Source, class Taker, class Gone, class Rule>
__device__ bool reduce_packets(const PacketReduce& reduce, Source source, Taker taker, PacketUse use, Gone gone,
                               const Rule& rule, Stage stage) {
  const std::uint64_t packets = packets_of(reduce.bytes);
  Packet *sources[kMost], *takers[kMost];
#pragma unroll
  for (unsigned k = 0; k < kMost; ++k) {
    sources[k] = k < reduce.sources ? source(k).from : nullptr;
    takers[k] = k < reduce.takers ? taker(k) + use.offset : nullptr;
  }
  for (std::uint64_t i = threadIdx.x; i < packets; i += blockDim.x) {
    Pack<8> data[kMostOperands];
    const Pack<8> own = take(reduce.own, i, reduce.bytes);
    const auto from = [&](unsigned k) { return sources[k] == nullptr ? nullptr : sources[k] + use.offset + i; };
    const auto peer = [&](unsigned k) { return source(k).peer; };
    if (!get_packets<kMost>(data, reduce.sources, use.tag, from, peer, gone)) return false;
#pragma unroll
    for (unsigned k = 0; k < kMost; ++k)
      if (k < reduce.sources && sources[k] == nullptr) data[k] = own;
    const Pack<8> result = rule(data, reduce.sources, stage);
#pragma unroll
    for (unsigned k = 0; k < kMost; ++k)
      if (k < reduce.takers) put(takers[k] + i, result, use.tag);
    leave(reduce.result, i, reduce.bytes, result);
  }
  return true;
}

}  // namespace sennit::device::cuda
