// Defines the primitives a block program is written in, and what each promises. HostBlock (a thread), CudaBlock (a
// thread block) and TraceBlock (which writes down what it is asked to do) implement this contract; a block program is
// a template over them.
//
//   block.index(), block.count()      this block among the blocks of the launch.
//   block.copy(dst, src, bytes)
//                                     All of the block moves bytes. Any alignment. Source and destination may be
//                                     local, peer or pinned host memory and must not overlap. Reads never come
//                                     from a stale cache line. Not ordered against other blocks until signal().
//   block.copy_each(count, message)   As copy() of each Copy that message(k) returns for k below `count` (at most
//                                     kMostOperands), all at the same time. Aligned to 16 bytes, it is faster.
//   block.signal(word, value)         Publishes: every byte this block copied, read or wrote before is performed
//                                     before `value` becomes visible in *word, to any device or the host (release,
//                                     system scope). One block at a time writes a word.
//   block.await(word, value, wait)    Returns true once *word has reached `value` (as serial numbers: a wrapped
//                                     counter still compares right); what the signaller did before its signal is
//                                     then visible to the whole block (acquire, system scope). Returns false when
//                                     the launch's limit passed or the job was aborted: the fault is recorded and
//                                     the program must return at once.
//   block.await_for(word, value, ns)  As await(), but false after `ns` nanoseconds without a fault: the program does
//                                     something else then. Does not look for an abort.
//   block.sound()                     False: a block has given up, here or in a launch before, so that what ought to
//                                     be done may not be. Whoever waits after that gives up soon, too.
//   block.post(word, value)           Publishes `value` alone: no bytes go with it (relaxed, system scope).
//   block.meet(mine, value, theirs)   Posts `value` in *mine, then says whether *theirs has reached it. Of two blocks
//                                     that do this with the words exchanged at least one sees the other's
//                                     (sequentially consistent, system scope).
//   block.equals(word, value)         Whether *word is `value` now; if so, what was signalled with it is visible.
//   block.load(word), block.store(word, value)
//                                     The block's own persistent counter, read and written by no one else while it
//                                     runs; carries sequence numbers from one launch to the next, so that a
//                                     captured graph can be replayed. To be stored after a primitive that waited.
//
// For each of several peers, in parallel where a block has threads: f(i) for i below `count` (at most 32), always by
// the same thread for the same i, so that what f(i) writes f(i) may read later without any barrier.
//   block.each(count, f)              f(i) alone. Other threads see what it wrote after a primitive that waits.
//   block.signal_each(count, f)       As signal(signal.word, signal.value) for each Signal that f(i) returns; none if
//                                     its word is null. f is called after all threads have finished what came
//                                     before.
//   block.await_each(count, f)        As await() for each Wait that f(i) returns; none if its word is null. A fault
//                                     names the peer. False as for await().
//   block.await_any(count, f)         As await_each(), but until one of the waits is over, whichever: returns those
//                                     that are, one at least, as the bits of their numbers. 0: f asked for none, or
//                                     the program must return at once.
//   block.shared<T>()                 Memory of the block, the same for all its threads, uninitialised: plain data. A
//                                     program asks for one T alone: another would be the same memory.
//
// Numbers (device/reduction.h), whole ones, at element alignment; a destination may be a source.
//   block.reduce(what, source, destination, reduction, stage)
//                                     Every source(k), in order, into every destination(k). Ordered as copy() is.
//
// Packets (device/packet.h). No signal and no barrier belongs to them: a packet that has arrived is its own signal.
// Nothing else is ordered by it, neither the sender's other writes nor its reads, unless a primitive says so.
//   block.send_packets(count, message, use)
//                                     Each message(k) for k below `count` (at most kMostOperands) into its packets.
//                                     Does not wait.
//   block.receive_packets(count, message, use, wait_id)
//                                     Waits for all packets of each message(k). False as for await(): return at once.
//   block.await_packets_for(packets, tag, ns, message)
//                                     Waits up to `ns` nanoseconds for the packets of one message, plain data of
//                                     whole packets (at most kMostAwaited), which all of the block may then read:
//                                     `message` is block.shared(). Memory whose address the message gives is then
//                                     seen as the host saw it before it sent them (consume, system scope). False
//                                     when they have not come: without a fault, and the program does something else
//                                     then. Leaves the packets as they are, so that each use of the place has a tag
//                                     of its own. Does not look for an abort.
//   block.reduce_packets(reduce, source, taker, use, wait_id, reduction, stage)
//                                     Waits, reduces the source(k) in order, stores the result and sends it on as
//                                     packets, to each taker(k).
#pragma once

#include <cstdint>

#include "device/packet.h"
#include "device/program.h"
#include "device/word.h"

namespace sennit::device {

/// Threads a block has on a GPU. A default: 16 warps keep enough 16-byte loads in flight to cover a PCIe round trip.
inline constexpr unsigned kBlockThreads = 512;

/// Holds what a waiting block writes down when it gives up. It lies in pinned host memory; the first fault of a
/// process is kept.
struct Fault {
  Word raised;          ///< 1 once the other fields are valid
  Word aborted;         ///< 1: another party aborted; 0: the limit passed
  Word block;           ///< which block waited
  Word wait_id;         ///< the program's own number for the place of the wait
  Word expected, seen;  ///< value waited for, value last read
  Word sequence;        ///< of the operation, as given at launch
  Word peer;            ///< 1 + the rank waited for; 0 where the program does not say
};

/// A word to signal; null: none.
struct Signal {
  Word* word = nullptr;
  Word value = 0;
};

/// A word to wait for until `peer` signals a value; null: none.
struct Wait {
  Word* word = nullptr;
  Word value = 0;
  Word wait_id = 0;  ///< the program's own number for the place of the wait
  int peer = -1;
};

/// A message to copy from one place to another.
struct Copy {
  void* to = nullptr;
  const void* from = nullptr;
  std::uint64_t bytes = 0;
};

/// Says what to reduce, and how many values the functions have: at most kMostOperands of each.
struct Reduce {
  std::uint64_t bytes = 0;
  unsigned sources = 0, destinations = 0;
};

/// Packets of a message that await_packets_for() takes: a limit, the threads of a warp.
inline constexpr unsigned kMostAwaited = 32;

/// Bytes that shared() has.
inline constexpr unsigned kSharedBytes = 256;

/// Bounds every wait of a launch.
struct Limits {
  std::uint64_t timeout_ns = 0;  ///< a limit: how long one await may take
  const Word* abort = nullptr;   ///< becomes non-zero when the job is aborted; host-visible memory
  Fault* fault = nullptr;        ///< where a failed wait is described
  Word sequence = 0;             ///< operation number, for the fault
};

/// True when a counter that has reached `seen` is at or past `value`, across wrap-around.
SENNIT_DEVICE bool reached(Word seen, Word value) {
  return static_cast<std::int32_t>(seen - value) >= 0;
}

}  // namespace sennit::device
