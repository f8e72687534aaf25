// Small messages: data and flag travel together, so that the receiver needs nothing but the bytes themselves to know
// that they have come. Half of what travels is flags; below some hundred KiB that is cheaper than any barrier.
//
// A packet is written by one 16-byte store. The two halves are each complete in themselves (four bytes of data, a
// flag), so that it does not matter whether memory takes the store as one or as two.
//
// A receiver never clears packets: it waits for the flag of its epoch, a 64-bit count of the uses of the place. Packets
// left by earlier epochs never compare equal: both flags together tell 2^64 epochs apart, and a place must not be used
// again before its reader is done with the use before (coll/ alternates between two places).
#pragma once

#include <cstdint>

#include "device/reduction.h"

namespace sennit::device {

using Word = std::uint32_t;

struct alignas(16) Packet {
  Word data0, flag0, data1, flag1;
};
/// Bytes of a message in a packet.
inline constexpr std::uint64_t kPacketBytes = 8;

struct PacketFlags {
  Word first, second;
};

/// Epochs begin at 1: memory of zeros holds no packet of any.
SENNIT_DEVICE PacketFlags flags_of(std::uint64_t epoch) {
  const auto low = static_cast<Word>(epoch), high = static_cast<Word>(epoch >> 32);
  return {low, low ^ (high * 0x9E3779B9u)};  // odd, so that no two counts of wraps meet
}

/// Packets that `bytes` bytes take: at least one, so that also an empty message tells that its sender has come.
SENNIT_DEVICE std::uint64_t packets_of(std::uint64_t bytes) {
  return bytes == 0 ? 1 : (bytes + kPacketBytes - 1) / kPacketBytes;
}

/// Several plain messages, each to packets of its own.
struct PacketSend {
  const void* from[kMostOperands];
  Packet* to[kMostOperands];
  std::uint64_t bytes[kMostOperands];
  unsigned count = 0;
};

/// Packets of several messages, each to plain memory of its own.
struct PacketReceive {
  const Packet* from[kMostOperands];
  void* to[kMostOperands];
  std::uint64_t bytes[kMostOperands];
  int peer[kMostOperands];  ///< rank that sends them, for faults
  unsigned count = 0;
};

/// Packets of several messages, and one message of this rank's own, reduced in the order of the sources.
struct PacketReduce {
  const Packet* from[kMostOperands];  ///< null: the own message stands at this place
  int peer[kMostOperands];
  unsigned sources = 0;
  const void* own = nullptr;
  void* result = nullptr;  ///< plain memory; may be `own`
  Packet* to[kMostOperands];
  unsigned destinations = 0;  ///< that get the result as packets too
  std::uint64_t bytes = 0;
};

}  // namespace sennit::device
