// The file that a process writes while it is profiled, byte by byte: a header, tables of names, exact sums, and a
// ring of calls for each thread. The file is mapped at its full size from the start, so a call writes memory and
// nothing else, and a process that is killed leaves all calls that had ended.
//
// Every field has one writer at a time. What other processes read while the writer runs is published by the atomic
// named beside it; everything else is read after the writer's end.
//
// Times are ticks of the clock that the header describes (clock.h).
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sennit::profile {

inline constexpr std::array<char, 8> kMagic{'s', 'e', 'n', 'n', 'i', 't', 'p', 'f'};
inline constexpr std::uint32_t kVersion = 6;

/// The kind of memory that one side of a call uses. Numbers are part of the file.
enum class Memory : std::uint8_t { absent, host, pinned, managed, device };
inline constexpr std::size_t kMemories = 5;

// Limits of a file. What is beyond one of them is counted under the last index of its table, whose name says so.
inline constexpr std::size_t kFunctions = 1024, kCommunicators = 4096, kReductions = 64, kTypes = 512, kPhases = 64,
                             kHows = 256, kVariables = 64;
inline constexpr std::size_t kSumSlots = std::size_t{1} << 15, kPeerSlots = std::size_t{1} << 14;
inline constexpr std::size_t kSamples = std::size_t{1} << 15;  ///< of variables: the latest stay
inline constexpr std::size_t kCallsInBlock = 800;

template <std::size_t bytes>
using Name = std::array<char, bytes>;  // ends in a zero byte

/// Writes as much of `text` as there is room for.
template <std::size_t bytes>
void set(Name<bytes>& name, std::string_view text) {
  const std::size_t length = text.copy(name.data(), bytes - 1);
  name[length] = 0;
}

/// The way in which a process ended, as far as its file tells.
enum class End : std::uint32_t { running, finalized, exited };

/// Which calls' times on the GPU were taken, by events on their streams, or of all calls by the records of kernels.
enum class GpuTimes : std::uint32_t { none, sampled, all, kernel };

struct Header {
  std::array<char, 8> magic;
  std::uint32_t version, header_bytes, call_bytes, block_bytes;
  std::uint64_t file_bytes;
  std::uint32_t blocks;  ///< as many as the file has room for
  std::atomic<std::uint32_t> blocks_taken;
  std::int32_t rank, ranks;  ///< of the job; -1: the program has not said
  std::uint32_t process, threads_seen;
  std::atomic<End> end;
  std::uint32_t accelerated;  ///< whether the drop-ins were at work
  GpuTimes gpu_times;
  std::uint32_t cores;                    ///< logical ones that the host has online; 0: not known
  std::int64_t wall_ns;                   ///< of CLOCK_REALTIME, when the file was made
  std::uint64_t begin, begin_ns;          ///< the same moment by the clock of all times here, and by CLOCK_MONOTONIC
  std::atomic<double> ns_per_tick;        ///< of that clock, as far as is known; more and more exact
  std::uint64_t clock_error_ns;           ///< by which times of processes of one host may differ
  std::atomic<std::uint64_t> init, last;  ///< the first call's end (MPI_Init), the last one's or the finalization
  std::atomic<std::uint64_t> paused;      ///< between these two, of pauses that are over
  std::atomic<std::uint64_t> paused_since;  ///< 0: no call is left out now
  std::atomic<std::uint64_t> calls_lost;    ///< calls that the rings no longer have; the sums do
  std::atomic<std::uint64_t> classes_lost;  ///< calls whose class found no slot: summed by function alone
  std::atomic<std::uint32_t> functions, communicators, reductions, types, phases, hows;  ///< names that are there
  std::atomic<std::uint32_t> variables;                                                  ///< that are there
  std::atomic<std::uint64_t> samples;                     ///< so far; the next one's place is this modulo kSamples
  std::atomic<std::uint64_t> kernels_begin, kernels_end;  ///< while kernels were collected; 0: they were not
  std::atomic<std::uint64_t> kernels_paused;              ///< of that time: their calls were not recorded
  std::atomic<std::uint64_t> kernels;                     ///< and copies, those of graphs too
  std::atomic<std::uint64_t> kernels_of_graphs;           ///< captured before: of no call, and in no time below
  std::atomic<std::uint64_t> kernels_lost;                ///< that had not ended at the collection's end
  std::atomic<std::uint64_t> gpu_communication_ns, gpu_computation_ns, gpu_both_ns;  ///< see Overlap
  std::uint64_t numa_nodes;  ///< a bit each that the process was bound to when it began; 0: to none
  Name<64> host;
  Name<256> program, mpi, nccl;
  Name<160> kernels_refused;  ///< the reason why kernels were not collected, where they were to be
};

struct Communicator {
  std::uint64_t id;  ///< the same on all of its ranks
  std::uint64_t parent;
  std::uint32_t size, rank;
  Name<72> name;
};

struct Call {
  std::uint64_t begin, end;
  std::uint64_t bytes_in, bytes_out;  ///< that this rank gives and gets; of a receive what was posted
  std::uint64_t received;             ///< that came, of a receive which the call has ended
  std::uint32_t sequence;             ///< of calls of all ranks of the communicator
  std::int32_t peer;                  ///< the root or the other rank, of the communicator; -1: has none
  std::int32_t tag;
  std::uint16_t function, communicator, type;
  std::uint8_t reduction, phase;
  Memory memory_in, memory_out;
  std::uint8_t in_place;
  std::uint8_t at_once;  ///< other threads of the process that were in calls, at its begin
  std::uint8_t missed;   ///< 1: it asked for something that was not there
  std::uint8_t how;      ///< who did it, as the drop-in has said; 0: it has not
};
static_assert(sizeof(Call) == 72);

/// Counters are relaxed: a reader looks at them after the process's end.
inline std::uint64_t value(const std::atomic<std::uint64_t>& of) {
  return of.load(std::memory_order_relaxed);
}

/// A slot of a table that threads fill without a lock. The first kOwners threads have slots of their own, which they
/// write without locked instructions; all others share theirs. What has one key is in several slots, and belongs
/// together.
struct Slot {
  std::atomic<std::uint64_t> key;    ///< 0: free
  std::atomic<std::uint32_t> owner;  ///< the thread's number and one more, or kEverybody; 0: it is being taken
  std::uint32_t unused;
};
inline constexpr std::uint32_t kOwners = 8, kEverybody = ~std::uint32_t{0};

/// Calls of one class, summed: exact however many there were. The key is Class::key().
struct Sum : Slot {
  std::atomic<std::uint64_t> calls, bytes_in, bytes_out, time, most, device_calls, device_ns, at_once;
  std::atomic<std::uint64_t> least;                     ///< and one more; 0: no call has ended
  std::atomic<std::uint64_t> requests, flight, waited;  ///< of these calls' requests that have ended, see Ended
  std::atomic<std::uint64_t> unseen;                    ///< requests that ended unseen, and are not in these
  std::atomic<std::uint64_t> received;                  ///< bytes, see Call
  std::atomic<std::uint64_t> misses, missed;            ///< calls that found nothing, and their time
  std::atomic<std::uint64_t> captured;  ///< calls that were put into a CUDA graph, and did nothing else
  std::atomic<std::uint64_t> replayed,
      replayed_bytes;  ///< that such graphs have done since, and what calls' larger sides had
};

/// What is told of a request when it has ended.
struct Ended {
  std::uint64_t flight = 0;    ///< from the begin of the call that began it to the end of the one that ended it
  std::uint64_t waited = 0;    ///< of that, in the latter
  std::uint64_t received = 0;  ///< bytes
};

/// The sums have this of one call.
struct Recorded {
  std::uint64_t bytes_in = 0, bytes_out = 0, time = 0;
  bool at_once = false;
};

/// Messages with one other rank of the job. The key is 2 * (rank + 1) + whether this rank sends.
struct Peer : Slot {
  std::atomic<std::uint64_t> messages, bytes;
};

/// Memory that calls of one function have registered, or had a library allocate.
struct Registered {
  std::atomic<std::uint64_t> calls, bytes;  ///< so far
  std::atomic<std::uint64_t> now, most;     ///< bytes that are registered, and the most that were at once
};

/// A variable that the MPI tells of itself (MPI_T), looked at now and then.
struct Variable {
  Name<96> name;
  Name<64> failed;  ///< the reason why it is not looked at
  std::atomic<std::uint64_t> samples, sum, most;
};
struct Sample {
  std::uint64_t time, value;
  std::uint32_t variable, unused;
};

/// Calls of one thread, in order. `number` counts the thread's blocks: of two blocks the lower number is older.
struct Block {
  std::uint32_t thread, number;
  std::uint32_t next, unused;        ///< of the thread's blocks, as numbers; the last one's is its own
  std::atomic<std::uint64_t> count;  ///< calls that are whole; released after each
  std::array<Call, kCallsInBlock> call;
};

/// All of the file but the blocks behind it.
struct Tables {
  Header header;
  std::array<Name<40>, kFunctions> function;
  std::array<Communicator, kCommunicators> communicator;
  std::array<Name<32>, kReductions> reduction;
  std::array<Name<32>, kTypes> type;
  std::array<Name<64>, kPhases> phase;
  std::array<Name<128>, kHows> how;
  std::array<Variable, kVariables> variable;
  std::array<Sample, kSamples> sample;
  std::array<Registered, kFunctions> registered;  ///< by function
  Registered all_registered;
  std::array<Sum, kFunctions> rest;  ///< by function: calls of classes beyond kSumSlots
  std::array<Sum, kSumSlots> sum;
  std::array<Peer, kPeerSlots> peer;
};

/// Calls with equal classes are summed together. A class has 64 bits, so that one compare-and-swap takes a slot.
struct Class {
  std::uint16_t function = 0, communicator = 0;
  std::uint8_t reduction = 0, phase = 0;
  std::uint8_t bin = 0;  ///< bin_of()
  Memory memory_in = Memory::absent, memory_out = Memory::absent;
  std::uint8_t how = 0;

  /// Never 0.
  constexpr std::uint64_t key() const {
    std::uint64_t bits = 1;
    const auto put = [&](std::uint64_t value, unsigned width) { bits = bits << width | value; };
    put(function, 10);
    put(communicator, 12);
    put(reduction, 6);
    put(phase, 6);
    put(bin, 7);
    put(static_cast<std::uint64_t>(memory_in), 3);
    put(static_cast<std::uint64_t>(memory_out), 3);
    put(how, 8);
    return bits;
  }
  static constexpr Class of(std::uint64_t key) {
    const auto take = [&](unsigned width) {
      const std::uint64_t value = key & ((std::uint64_t{1} << width) - 1);
      key >>= width;
      return value;
    };
    Class found;
    found.how = static_cast<std::uint8_t>(take(8));
    found.memory_out = static_cast<Memory>(take(3));
    found.memory_in = static_cast<Memory>(take(3));
    found.bin = static_cast<std::uint8_t>(take(7));
    found.phase = static_cast<std::uint8_t>(take(6));
    found.reduction = static_cast<std::uint8_t>(take(6));
    found.communicator = static_cast<std::uint16_t>(take(12));
    found.function = static_cast<std::uint16_t>(take(10));
    return found;
  }
};

/// The bin of a message: 0 without bytes, 1 for one byte, n for (2^(n-2), 2^(n-1)] bytes. These are the bins of seed
/// 003, section 3.3.4, and one for messages without bytes.
constexpr std::uint8_t bin_of(std::uint64_t bytes) {
  return bytes == 0 ? std::uint8_t{0} : static_cast<std::uint8_t>(1 + std::bit_width(bytes - 1));
}
constexpr Class class_of(const Call& call) {
  return {call.function,
          call.communicator,
          call.reduction,
          call.phase,
          bin_of(call.bytes_in > call.bytes_out ? call.bytes_in : call.bytes_out),
          call.memory_in,
          call.memory_out,
          call.how};
}
inline constexpr std::uint8_t kLastBin = 65,
                              kUnknownBin = 66;  // the latter is of calls without a class, see Tables::rest
/// The largest message of a bin, in bytes; the last bin ends with the largest number.
constexpr std::uint64_t last_of(std::uint8_t bin) {
  return bin == 0 ? 0 : bin >= kLastBin ? ~std::uint64_t{0} : std::uint64_t{1} << (bin - 1);
}

}  // namespace sennit::profile
