// Implements the primitives of device/block.h in a thread. Waiting yields the processor: more blocks than cores is
// normal.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>

#include "base/other_processes.h"
#include "device/block.h"
#include "device/host/delays.h"
#include "device/own_memory.h"

namespace sennit::device {

class HostBlock : public OwnMemory {
 public:
  HostBlock(unsigned index, unsigned count, const Limits& limits) : index_(index), count_(count), limits_(limits) {}

  unsigned index() const { return index_; }
  unsigned count() const { return count_; }

  void copy(void* dst, const void* src, std::uint64_t bytes) {
    if (bytes != 0) std::memcpy(dst, src, bytes);
  }

  template <class Message>
  void copy_each(unsigned count, Message message) {
    for (unsigned k = 0; k < count; ++k) {
      const Copy one = message(k);
      copy(one.to, one.from, one.bytes);
    }
  }

  bool sound() const { return limits_.fault == nullptr || load_flag(&limits_.fault->raised) == 0; }

  void signal(Word* word, Word value) {
    Delays::hold_up();
    tell_others();
    std::atomic_ref(*word).store(value, std::memory_order_release);
  }

  bool await(Word* word, Word value, Word wait_id, int peer = -1) {
    Delays::hold_up();
    Word seen = 0;
    return wait(
        [&] {
          seen = std::atomic_ref(*word).load(std::memory_order_acquire);
          return reached(seen, value);
        },
        [&](bool aborted) { give_up(aborted, wait_id, value, seen, peer); });
  }

  bool await_for(Word* word, Word value, std::uint64_t ns) {
    const auto deadline = Clock::now() + std::chrono::nanoseconds(ns);
    while (!reached(std::atomic_ref(*word).load(std::memory_order_acquire), value)) {
      if (Clock::now() > deadline) return false;
      std::this_thread::yield();
    }
    return true;
  }

  void post(Word* word, Word value) {
    Delays::hold_up();
    std::atomic_ref(*word).store(value, std::memory_order_relaxed);
  }

  bool meet(Word* mine, Word value, Word* theirs) {
    Delays::hold_up();
    tell_others();
    std::atomic_ref(*mine).store(value, std::memory_order_seq_cst);
    return reached(std::atomic_ref(*theirs).load(std::memory_order_seq_cst), value);
  }

  bool equals(Word* word, Word value) { return std::atomic_ref(*word).load(std::memory_order_acquire) == value; }

  template <class Ask>
  void signal_each(unsigned count, Ask ask) {
    for (unsigned i = 0; i < count; ++i)
      if (const Signal one = ask(i); one.word != nullptr) signal(one.word, one.value);
  }
  template <class Ask>
  bool await_each(unsigned count, Ask ask) {
    for (unsigned i = 0; i < count; ++i)
      if (const Wait one = ask(i); one.word != nullptr && !await(one.word, one.value, one.wait_id, one.peer))
        return false;
    return true;
  }

  template <class Ask>
  std::uint32_t await_any(unsigned count, Ask ask) {
    Delays::hold_up();
    std::uint32_t over = 0;
    Wait first;  // the one to name in a fault
    Word seen = 0;
    for (unsigned i = count; i-- > 0;)
      if (const Wait one = ask(i); one.word != nullptr) first = one;
    if (first.word == nullptr) return 0;
    const bool any = wait(
        [&] {
          for (unsigned i = 0; i < count; ++i)
            if (const Wait one = ask(i); one.word != nullptr) {
              const Word now = std::atomic_ref(*one.word).load(std::memory_order_acquire);
              if (reached(now, one.value)) over |= std::uint32_t{1} << i;
              if (one.word == first.word) seen = now;
            }
          return over != 0;
        },
        [&](bool aborted) { give_up(aborted, first.wait_id, first.value, seen, first.peer); });
    return any ? over : 0;
  }

  template <class Source, class Destination>
  void reduce(const Reduce& what, Source source, Destination destination, const Reduction& reduction, Stage stage) {
    Operands operands;
    for (unsigned k = 0; k < what.sources; ++k) operands.from[operands.sources++] = source(k);
    for (unsigned k = 0; k < what.destinations; ++k) operands.to[operands.destinations++] = destination(k);
    reduce_on_host(reduction, operands, what.bytes, stage);
  }

  template <class Message>
  void send_packets(unsigned count, Message message, PacketUse use) {
    for (unsigned k = 0; k < count; ++k) {
      const PacketSend send = message(k);
      for (std::uint64_t i = 0; i < packets_of(send.bytes); ++i)
        put(send.to + use.offset + i, take(send.from, i, send.bytes), use.tag);
    }
  }
  template <class Message>
  bool receive_packets(unsigned count, Message message, PacketUse use, Word wait_id) {
    for (unsigned k = 0; k < count; ++k) {
      const PacketReceive receive = message(k);
      for (std::uint64_t i = 0; i < packets_of(receive.bytes); ++i) {
        Pack<8> data;
        if (!get(receive.from + use.offset + i, use.tag, data, wait_id, receive.peer)) return false;
        leave(receive.to, i, receive.bytes, data);
      }
    }
    return true;
  }
  template <class Message>
  bool await_packets_for(Packet* packets, Word tag, std::uint64_t ns, Message& message) {
    constexpr std::uint64_t kPackets = sizeof(Message) / kPacketBytes;
    static_assert(sizeof(Message) % kPacketBytes == 0 && kPackets <= kMostAwaited);
    const auto deadline = Clock::now() + std::chrono::nanoseconds(ns);
    for (std::uint64_t i = 0; i < kPackets; ++i) {
      Pack<8> data{};
      for (const int which : {0, 1})
        for (;;) {
          const std::uint64_t seen = half(packets + i, which).load(std::memory_order_acquire);
          data.word[which] = Word(seen);
          if (seen >> 32 == tag) break;
          if (Clock::now() > deadline) return false;
          std::this_thread::yield();
        }
      leave(&message, i, sizeof message, data);
    }
    return true;
  }
  template <class Source, class Taker>
  bool reduce_packets(const PacketReduce& reduce, Source source, Taker taker, PacketUse use, Word wait_id,
                      const Reduction& reduction, Stage stage) {
    for (std::uint64_t i = 0; i < packets_of(reduce.bytes); ++i) {
      Pack<8> from[kMostOperands];
      for (unsigned k = 0; k < reduce.sources; ++k)
        if (const PacketSource one = source(k); one.from == nullptr)
          from[k] = take(reduce.own, i, reduce.bytes);
        else if (!get(one.from + use.offset + i, use.tag, from[k], wait_id, one.peer))
          return false;
      const Pack<8> result = reduce_pack_on_host(reduction, from, reduce.sources, stage);
      leave(reduce.result, i, reduce.bytes, result);
      for (unsigned k = 0; k < reduce.takers; ++k) put(taker(k) + use.offset + i, result, use.tag);
    }
    return true;
  }

 private:
  using Clock = std::chrono::steady_clock;

  // Half a packet is one atomic: its tag says that its data is there.
  static std::atomic_ref<std::uint64_t> half(Packet* packet, int which) {
    return std::atomic_ref(reinterpret_cast<std::uint64_t*>(packet)[which]);
  }
  static void put(Packet* packet, Pack<8> data, Word tag) {
    for (const int i : {0, 1}) {
      Delays::hold_up();
      // Release: for await_packets_for().
      half(packet, i).store(data.word[i] | std::uint64_t(tag) << 32, std::memory_order_release);
    }
  }
  bool get(Packet* packet, Word tag, Pack<8>& data, Word wait_id, int peer) {
    for (const int i : {0, 1}) {
      std::uint64_t seen = 0;
      const auto arrived = [&] {
        seen = half(packet, i).load(std::memory_order_relaxed);
        return seen >> 32 == tag;
      };
      if (!wait(arrived, [&](bool aborted) { give_up(aborted, wait_id, tag, Word(seen >> 32), peer); })) return false;
      data.word[i] = Word(seen);
      half(packet, i).store(0, std::memory_order_relaxed);
    }
    return true;
  }
  /// Returns the bytes of a message that packet `i` carries, and where they go; the last packet may carry fewer.
  static Pack<8> take(const void* from, std::uint64_t i, std::uint64_t bytes) {
    Pack<8> data{};
    const std::uint64_t at = i * kPacketBytes;
    if (at < bytes) std::memcpy(&data, static_cast<const std::byte*>(from) + at, std::min(bytes - at, kPacketBytes));
    return data;
  }
  static void leave(void* to, std::uint64_t i, std::uint64_t bytes, const Pack<8>& data) {
    const std::uint64_t at = i * kPacketBytes;
    if (at < bytes) std::memcpy(static_cast<std::byte*>(to) + at, &data, std::min(bytes - at, kPacketBytes));
  }

  template <class Arrived, class GiveUp>
  bool wait(Arrived arrived, GiveUp give_up_waiting) {
    if (arrived()) return true;
    const auto deadline = Clock::now() + std::chrono::nanoseconds(limits_.timeout_ns);
    for (unsigned spin = 0;; ++spin) {
      if (arrived()) return true;
      // A launch enqueued behind one that gave up need not wait its own time.
      const bool aborted = (limits_.abort != nullptr && load_flag(limits_.abort) != 0) || !sound();
      if (aborted || Clock::now() > deadline) {
        give_up_waiting(aborted);
        return false;
      }
      if (spin > 16) std::this_thread::yield();
    }
  }

  static Word load_flag(const Word* flag) {
    return std::atomic_ref(*const_cast<Word*>(flag)).load(std::memory_order_relaxed);
  }

  void give_up(bool aborted, Word wait_id, Word expected, Word seen, int peer) {
    Word free = 0;
    if (limits_.fault == nullptr) return;
    // Claimed with 2, valid with 1: a reader never sees half a fault, and the first one is kept.
    std::atomic_ref raised(limits_.fault->raised);
    if (!raised.compare_exchange_strong(free, 2)) return;
    limits_.fault->aborted = aborted ? 1 : 0;
    limits_.fault->block = index_;
    limits_.fault->wait_id = wait_id;
    limits_.fault->expected = expected;
    limits_.fault->seen = seen;
    limits_.fault->sequence = limits_.sequence;
    limits_.fault->peer = static_cast<Word>(peer + 1);
    raised.store(1, std::memory_order_release);
  }

  unsigned index_;
  unsigned count_;
  Limits limits_;
};

}  // namespace sennit::device
