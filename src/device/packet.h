// Packets carry small messages: data and tag travel together, so that the receiver needs nothing but the bytes
// themselves to know that they have come. Half of what travels is tags; below some hundred KiB that is cheaper than
// any barrier.
//
// A packet is written by one 16-byte store. The two halves are each complete in themselves (four bytes of data, a
// tag), so that it does not matter whether memory takes the store as one or as two.
//
// The reader of a packet clears it, so that no packet of an earlier use can ever be taken for a later one, however
// many uses lie between. A place must not be written again before the launch that read it is over (coll/ alternates
// between two places): the end of a launch is what orders the clearing before all that the reader sends later.
#pragma once

#include <cstdint>

#include "device/reduction.h"
#include "device/word.h"

namespace sennit::device {

struct alignas(16) Packet {
  Word data0, tag0, data1, tag1;
};
/// Bytes of a message in a packet.
inline constexpr std::uint64_t kPacketBytes = 8;

/// Returns a tag, never that of a cleared packet. It differs from launch to launch only to help people who look at
/// memory.
SENNIT_DEVICE Word tag_of(std::uint64_t epoch) {
  return static_cast<Word>(epoch) | 0x80000000u;
}

/// Returns the packets that `bytes` bytes take: at least one, so that also an empty message tells that its sender has
/// come.
SENNIT_DEVICE std::uint64_t packets_of(std::uint64_t bytes) {
  return bytes == 0 ? 1 : (bytes + kPacketBytes - 1) / kPacketBytes;
}

/// Says which use of packets this is: they lie `offset` packets behind where messages say, and have this tag. Said
/// apart, since a kernel has to load it, and meanwhile it can load what it sends.
struct PacketUse {
  Word tag = 0;
  std::uint64_t offset = 0;
};

// Functions of a message's number tell the block's primitives about each of several messages: an array would lie in a
// thread's memory, and small messages would wait for it.

/// A plain message, to packets of its own.
struct PacketSend {
  const void* from = nullptr;
  Packet* to = nullptr;
  std::uint64_t bytes = 0;
};

/// Packets of a message, to plain memory of its own.
struct PacketReceive {
  Packet* from = nullptr;
  void* to = nullptr;
  std::uint64_t bytes = 0;
  int peer = 0;  ///< rank that sends them, for faults
};

/// One of the sources of a reduction.
struct PacketSource {
  Packet* from = nullptr;  ///< null: the own message stands at this place
  int peer = 0;
};

/// Packets of several messages, and one message of this rank's own, reduced in the order of the sources.
struct PacketReduce {
  const void* own = nullptr;
  void* result = nullptr;  ///< plain memory; may be `own`
  std::uint64_t bytes = 0;
  unsigned sources = 0;
  unsigned takers = 0;  ///< that get the result as packets too
};

/// Stands for the takers of a reduction that has none: it gives null for each.
struct NoTakers {
  SENNIT_DEVICE Packet* operator()(unsigned) const { return nullptr; }
};

}  // namespace sennit::device
