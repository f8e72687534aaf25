// This file merges the files of a job's processes, by pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "profile/rank.h"

namespace sennit::profile {

/// The spread of a number over processes.
struct Spread {
  double least = 0, mean = 0, most = 0;
};

/// Calls of one function that are alike, of all processes.
struct Row {
  std::string function, how, reduction, phase;
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
};

/// Messages that one rank gave another one.
struct Partners {
  int from = 0, to = 0;
  std::uint64_t messages = 0, bytes = 0;
};

/// The time that ranks waited in calls of all ranks for the last one to come: from a rank's begin to the last one's,
/// where that is longer than the clocks are wrong.
struct Skew {
  std::string function;
  std::uint32_t communicator_size = 0;
  std::uint64_t calls = 0;    ///< that all ranks made, and that the rings still have
  double wait_seconds = 0;    ///< of all ranks together
  double inside_seconds = 0;  ///< that ranks were in these calls, waiting included
  int latest_rank = -1;       ///< of the job; who came last most often
  std::uint64_t latest_calls = 0;
};

struct Profile {
  std::vector<Rank> ranks;  ///< by rank; without their calls
  std::vector<int> missing;
  std::vector<Row> rows;  ///< those that took longest first
  std::vector<Partners> partners;
  std::vector<Skew> skews;
};

/// Merges what was read. Messages between two ranks are the sender's, or the receiver's where the sender's file is
/// missing. The result does not depend on the order of `ranks`, nor of their threads. Errors: invalid_argument (there
/// is none), corrupt (two files of one rank, or numbers of ranks that differ).
Result<Profile> merge(std::vector<Rank> ranks);

}  // namespace sennit::profile
