// Serves copies of few bytes between the memory of a GPU and of the host, or from another GPU's, without a launch or
// a copy engine for each: a block of the GPU attends, and does one after the other.
//
// 1. The block says that it is there. Until then nothing is asked of it.
// 2. For each copy the host writes one small message of packets: what to copy, and the bytes themselves where
//    they are few and go to the GPU.
// 3. The block does it: few bytes for the host go there as packets; of others it signals that they are there. Several
//    copies to the GPU may be asked for in one message: they then take hardly longer than one.
// 4. It waits for the next message a given time and not longer, since it takes up a place on the GPU, and whoever
//    waits for the whole GPU waits for it too. For the first one it waits longer: until both sides of a conversation
//    have a block, copy engines make the pauses.
// 5. A block that is about to leave says so, then looks whether a copy more is asked for, which makes it stay; a host
//    that has asked looks whether the block is about to leave. One of both sees the other. A host that sees the block
//    about to leave waits for the copy or for the block's last word: which copy was its last. What was not done goes
//    to a copy engine.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/block.h"

namespace sennit::stage {

struct CopyServer {
  static constexpr const char* kName = "copy_server";
  /// Few bytes: what a message has room for. And the longest copy: a limit.
  static constexpr std::uint32_t kFew = 232, kMost = 8192;
  /// A default: two accesses of each for the longest copy.
  static constexpr unsigned kThreads = 256;

  /// between: to the GPU from any memory that it reaches.
  enum class Way : std::uint32_t { to_host, to_gpu, parts_to_gpu, between };
  /// Copies to the GPU in one message: a limit. Their bytes lie one after the other, each from a multiple of kAlign.
  static constexpr unsigned kParts = device::kMostOperands;
  static constexpr std::uint32_t kAlign = 16;
  struct Parts {
    std::byte* at[kParts];  ///< in the memory of the GPU
    std::uint32_t bytes[kParts];
    std::byte few[kFew - kParts * (sizeof(std::byte*) + sizeof(std::uint32_t))];  ///< where all fit

    SENNIT_DEVICE static constexpr std::uint32_t room_of(std::uint32_t bytes) {
      return (bytes + kAlign - 1) / kAlign * kAlign;
    }
    SENNIT_DEVICE std::uint32_t begin(unsigned part) const {
      std::uint32_t all = 0;
      for (unsigned k = 0; k < part; ++k) all += room_of(bytes[k]);
      return all;
    }
  };
  /// Describes what is asked for.
  struct Command {
    std::byte* at = nullptr;    ///< in the memory of the GPU
    std::byte* host = nullptr;  ///< where more than few bytes are or go; where those of `between` are
    std::uint32_t bytes = 0;    ///< or how many parts
    Way way = Way::to_host;
    union {
      std::byte few[kFew] = {};  ///< for the GPU
      Parts parts;               ///< for the GPU; with few bytes where `host` is null
    };
  };

  /// The host and the block write to each other here: host memory that the GPU reaches, zeroed when made.
  struct Mailbox {
    device::Packet* command = nullptr;  ///< with the copy's number as tag
    device::Packet* few = nullptr;      ///< the tag is tag_of() the number
    device::Word* asked = nullptr;      ///< number of the latest copy
    device::Word* here = nullptr;       ///< the latest launch that has begun: its first copy's number
    device::Word* leaving = nullptr;    ///< number of a copy that the block may leave without
    device::Word* gone = nullptr;       ///< the latest launch that does nothing any more
    device::Word* last = nullptr;       ///< number of the last copy that it did
    device::Word* done = nullptr;       ///< number of the latest copy that was done and signalled
    std::byte* bytes = nullptr;         ///< more than few of them

    static constexpr std::uint64_t kWords = 6, kLine = 64;
    static constexpr std::uint64_t kCommand = sizeof(Command) / device::kPacketBytes;
    static constexpr std::uint64_t kPackets = kCommand + kFew / device::kPacketBytes;
    static constexpr std::uint64_t kBytes = kWords * kLine + kPackets * sizeof(device::Packet) + kMost;
    static Mailbox at(std::byte* memory) {
      Mailbox mailbox;
      device::Word** const words[kWords] = {&mailbox.asked, &mailbox.here, &mailbox.leaving,
                                            &mailbox.gone,  &mailbox.last, &mailbox.done};
      for (std::uint64_t i = 0; i < kWords; ++i) *words[i] = reinterpret_cast<device::Word*>(memory + i * kLine);
      mailbox.command = reinterpret_cast<device::Packet*>(memory + kWords * kLine);
      mailbox.few = mailbox.command + kCommand;
      mailbox.bytes = memory + kBytes - kMost;
      return mailbox;
    }
  };

  Mailbox mailbox;
  device::Word first = 0;  ///< number of the first copy that this launch may be asked for; no other launch has it
  std::uint64_t patience_ns = 0;
  static constexpr unsigned kAtFirst = 4;  ///< times as long for the first one: a default

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    auto& command = block.template shared<Command>();
    device::Word next = first;
    block.signal(mailbox.here, first);
    for (;; ++next) {
      const std::uint64_t patience = next == first ? kAtFirst * patience_ns : patience_ns;
      if (!block.await_packets_for(mailbox.command, next, patience, command)) {
        if (!block.meet(mailbox.leaving, next, mailbox.asked)) break;
        // The host has written the message before.
        while (!block.await_packets_for(mailbox.command, next, patience_ns, command))
          if (!block.sound()) return;
      }
      const bool to_host = command.way == Way::to_host;
      const bool few = command.bytes <= kFew && command.way != Way::between;  // of one
      if (few && to_host) {
        const auto packets = [&](unsigned) { return device::PacketSend{command.at, mailbox.few, command.bytes}; };
        block.send_packets(1, packets, device::PacketUse{device::tag_of(next), 0});
        continue;
      }
      if (command.way == Way::parts_to_gpu) {
        copy_parts(block, command);
      } else if (few) {
        block.each(static_cast<unsigned>(device::packets_of(command.bytes)), [&](unsigned i) {
          const unsigned begin = i * device::kPacketBytes;
          for (unsigned b = begin; b < begin + device::kPacketBytes && b < command.bytes; ++b)
            command.at[b] = command.few[b];
        });
      } else {
        block.copy(to_host ? command.host : command.at, to_host ? command.at : command.host, command.bytes);
      }
      block.signal(mailbox.done, next);
    }
    block.post(mailbox.last, next - 1);
    block.signal(mailbox.gone, first);
  }

 private:
  template <class Block>
  SENNIT_DEVICE static void copy_parts(Block& block, const Command& command) {
    const Parts& parts = command.parts;
    if (command.host != nullptr) {
      block.copy_each(command.bytes, [&](unsigned k) {
        return device::Copy{parts.at[k], command.host + parts.begin(k), parts.bytes[k]};
      });
      return;
    }
    block.each(command.bytes, [&](unsigned k) {
      for (std::uint32_t from = parts.begin(k), b = 0; b < parts.bytes[k]; ++b) parts.at[k][b] = parts.few[from + b];
    });
  }
};
static_assert(sizeof(CopyServer::Command) == device::kMostAwaited * device::kPacketBytes);

}  // namespace sennit::stage
