// This file merges the files of a job's processes, by pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "base/status.h"
#include "profile/queues.h"
#include "profile/rank.h"
#include "profile/skew.h"
#include "profile/timeline.h"

namespace sennit::profile {

/// The spread of a number over processes.
struct Spread {
  double least = 0, mean = 0, most = 0;
};

/// Calls of one function that are alike, of all processes.
struct Row {
  std::string function, reduction, phase, how;
  std::uint32_t communicator_size = 0;  ///< 0: it has no communicator, or that is not known
  std::uint8_t bin = 0;                 ///< of the larger side's bytes: bin_of(), kUnknownBin
  Memory memory_in = Memory::absent, memory_out = Memory::absent;
  std::uint64_t calls = 0, bytes_in = 0, bytes_out = 0, at_once = 0;
  std::uint64_t processes = 0;  ///< that made one
  double seconds = 0;           ///< of all processes together
  Spread rank_seconds;          ///< of one process, those without such calls too
  double least_us = 0, most_us = 0;
  std::uint64_t device_calls = 0;  ///< of which the GPU's time is known, and is `device_seconds` together
  double device_seconds = 0;
  std::uint64_t requests = 0;                     ///< that have ended, of calls which begin some
  double flight_seconds = 0, waited_seconds = 0;  ///< of these requests together, see Ended
  std::uint64_t received = 0;                     ///< bytes that came, of receives
  std::uint64_t misses = 0;                       ///< calls that found nothing
  double missed_seconds = 0;
  std::uint64_t unseen = 0;                        ///< requests that ended unseen
  std::uint64_t captured = 0;                      ///< of these calls, put into a CUDA graph
  std::uint64_t replayed = 0, replayed_bytes = 0;  ///< by graphs since: calls, and bytes of their larger sides
};

/// Questions for what may not be there yet: MPI_Iprobe, MPI_Test and their like.
struct Polls {
  std::string function;
  std::uint64_t calls = 0, misses = 0;  ///< and those that found nothing
  double seconds = 0, missed_seconds = 0;
  Spread rank_missed_seconds;  ///< of one process
};

/// Messages that one rank gave another one.
struct Partners {
  int from = 0, to = 0;
  std::uint64_t messages = 0, bytes = 0;
};

/// Elements of one type, of the calls that the rings still have.
struct TypeUse {
  std::string type;
  std::uint64_t calls = 0, bytes = 0;
};

/// Memory that processes have registered by one function, see Registered.
struct RegisteredMemory {
  std::string function;
  std::uint64_t processes = 0, calls = 0, bytes = 0, left = 0;  ///< of all processes
  std::uint64_t most = 0;                                       ///< bytes at once, of the process that had most
};

/// A process's file that is not part of the profile.
struct LeftOut {
  std::string origin, why;
};

struct Profile {
  std::vector<Rank> ranks;         ///< by rank; without their calls
  std::vector<std::size_t> files;  ///< the number of each one's file
  std::vector<int> missing;
  std::vector<LeftOut> left_out;
  std::vector<Row> rows;  ///< those that took longest first
  std::vector<Partners> partners;
  std::vector<Skew> skews;
  std::vector<Lateness> lateness;            ///< by rank
  std::vector<Polls> polls;                  ///< those that missed most of the time first
  std::vector<TypeUse> types;                ///< those with most bytes first
  std::vector<RegisteredMemory> registered;  ///< the same
  ReconstructedQueues queues;
  std::vector<Activity> timeline;  ///< by rank
  std::uint64_t span_ns = 0;       ///< from the first process's begin to the last one's end, that bins divide
};

/// Reads one of the files. It is asked for each of them several times, so that the calls of one process alone are in
/// memory.
using ReadFile = FunctionRef<Result<Rank>(std::size_t)>;

/// Merges the files of a job. Messages between two ranks are the sender's, or the receiver's where the sender's file
/// is missing. Files that cannot be read, and those of another run, are left out: a run is that of the process which
/// started first. Processes of no rank that did nothing are no part of it. The result depends neither on the order of
/// the files, nor on that of their threads. Errors: invalid_argument (there is none), the first file's where none can
/// be read.
Result<Profile> merge(std::size_t files, ReadFile read);
Result<Profile> merge(const std::vector<Rank>& ranks);

}  // namespace sennit::profile
