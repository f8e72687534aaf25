// Packets in a CUDA thread block: a thread moves one packet of each message at a time, and has those of all messages
// in flight before it looks at the first.
#pragma once

#include <cstdint>

#include "device/block.h"
#include "device/cuda/instructions.cuh"

namespace sennit::device::cuda {

/// What packet `i` of a message carries. Whole packets of aligned memory by one access.
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

__device__ inline void send_packets(const PacketSend& send, PacketUse use) {
  std::uint64_t most = 1;
  for (unsigned k = 0; k < send.count; ++k)
    if (packets_of(send.bytes[k]) > most) most = packets_of(send.bytes[k]);
  for (std::uint64_t i = threadIdx.x; i < most; i += blockDim.x) {
    Pack<8> data[kMostOperands];
#pragma unroll
    for (unsigned k = 0; k < kMostOperands; ++k) {
      if (k >= send.count) break;
      data[k] = take(send.from[k], i, send.bytes[k]);
    }
#pragma unroll
    for (unsigned k = 0; k < kMostOperands; ++k) {
      if (k >= send.count) break;
      if (i < packets_of(send.bytes[k])) put(send.to[k] + use.offset + i, data[k], use.tag);
    }
  }
}

/// Waits for packet `i` of each of `count` messages, and clears it: gone(expected, seen, k) says now and then whether
/// to give up. Messages that have no such packet, or null, are left out.
template <class From, class Gone>
__device__ bool get_packets(Pack<8> (&data)[kMostOperands], unsigned count, Word tag, From from, Gone gone) {
  Packet got[kMostOperands];
#pragma unroll
  for (unsigned k = 0; k < kMostOperands; ++k) {
    if (k >= count) break;
    Packet* const packet = from(k);
    if (packet != nullptr) got[k] = poll(packet);
  }
#pragma unroll
  for (unsigned k = 0; k < kMostOperands; ++k) {
    if (k >= count) break;
    Packet* const packet = from(k);
    if (packet == nullptr) continue;
    for (unsigned spin = 1; got[k].tag0 != tag || got[k].tag1 != tag; ++spin) {
      if (spin % Gone::kSpins == 0 && gone(tag, got[k].tag0, k)) return false;
      got[k] = poll(packet);
    }
    put(packet, {}, 0);
    data[k] = {{got[k].data0, got[k].data1}};
  }
  return true;
}

template <class Gone>
__device__ bool receive_packets(const PacketReceive& receive, PacketUse use, Gone gone) {
  std::uint64_t most = 1;
  for (unsigned k = 0; k < receive.count; ++k)
    if (packets_of(receive.bytes[k]) > most) most = packets_of(receive.bytes[k]);
  for (std::uint64_t i = threadIdx.x; i < most; i += blockDim.x) {
    Pack<8> data[kMostOperands];
    const auto from = [&](unsigned k) {
      return i < packets_of(receive.bytes[k]) ? receive.from[k] + use.offset + i : nullptr;
    };
    if (!get_packets(data, receive.count, use.tag, from, gone)) return false;
#pragma unroll
    for (unsigned k = 0; k < kMostOperands; ++k) {
      if (k >= receive.count) break;
      leave(receive.to[k], i, receive.bytes[k], data[k]);
    }
  }
  return true;
}

template <class Gone, class Rule>
__device__ bool reduce_packets(const PacketReduce& reduce, PacketUse use, Gone gone, const Rule& rule, Stage stage) {
  const std::uint64_t packets = packets_of(reduce.bytes);
  for (std::uint64_t i = threadIdx.x; i < packets; i += blockDim.x) {
    Pack<8> data[kMostOperands];
    const Pack<8> own = take(reduce.own, i, reduce.bytes);
    const auto from = [&](unsigned k) {
      return reduce.from[k] == nullptr ? nullptr : reduce.from[k] + use.offset + i;
    };
    if (!get_packets(data, reduce.sources, use.tag, from, gone)) return false;
#pragma unroll
    for (unsigned k = 0; k < kMostOperands; ++k)
      if (k < reduce.sources && reduce.from[k] == nullptr) data[k] = own;
    const Pack<8> result = rule(data, reduce.sources, stage);
#pragma unroll
    for (unsigned k = 0; k < kMostOperands; ++k) {
      if (k >= reduce.destinations) break;
      put(reduce.to[k] + use.offset + i, result, use.tag);
    }
    leave(reduce.result, i, reduce.bytes, result);
  }
  return true;
}

}  // namespace sennit::device::cuda
