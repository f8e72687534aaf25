// This file reads one process's file (layout.h) into values, after the process's end, or after its death.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "profile/layout.h"

namespace sennit::profile {

/// A call, and the thread that made it, numbered from 0 in the order of their first calls. Its times are those of
/// CLOCK_MONOTONIC in ns.
struct TimedCall {
  Call call;
  std::uint32_t thread = 0;
};

struct Sums {
  Class of;
  std::uint64_t calls = 0, bytes_in = 0, bytes_out = 0, ns = 0, least_ns = 0, most_ns = 0;
  std::uint64_t device_calls = 0, device_ns = 0, at_once = 0;
  std::uint64_t requests = 0, flight_ns = 0, waited_ns = 0, received = 0;
  std::uint64_t misses = 0, missed_ns = 0;
  std::uint64_t captured = 0, replayed = 0, replayed_bytes = 0;
  std::uint64_t unseen = 0;
};

struct Messages {
  int peer = 0;  ///< rank of the job
  bool sent = false;
  std::uint64_t messages = 0, bytes = 0;
};

/// Kernels and copies on GPUs, while they were collected. See Header.
struct Kernels {
  std::uint64_t collected_ns = 0;  ///< 0: they were not
  std::uint64_t kernels = 0, of_graphs = 0, lost = 0;
  std::uint64_t communication_ns = 0, computation_ns = 0, both_ns = 0;
  std::string refused;
};

/// Memory that was registered by a function, see Registered.
struct Registrations {
  std::string function;
  std::uint64_t calls = 0, bytes = 0, left = 0, most = 0;  ///< `left`: that were registered at the end
};

/// A variable that the MPI told of itself, see Variable.
struct Sampled {
  struct Point {
    std::uint64_t ns, value;
  };
  std::string name, failed;
  std::uint64_t samples = 0, sum = 0, most = 0;
  std::vector<Point> points;  ///< the latest, in order
};

struct NamedCommunicator {
  std::uint64_t id = 0, parent = 0;
  std::uint32_t size = 0, rank = 0;
  std::string name;
};

struct Rank {
  std::string origin;  ///< the file
  int rank = -1, ranks = -1;
  std::uint32_t process = 0, threads = 0, cores = 0;  ///< `cores`: of the host; 0: not known
  std::string host, program, mpi, nccl;
  std::vector<int> numa_nodes;  ///< those that the process was bound to, ascending; empty: nobody has bound it
  std::string clock;            ///< the host whose clock all times are of
  bool accelerated = false;
  GpuTimes gpu_times = GpuTimes::none;
  End end = End::running;  ///< running: it was killed, or has not ended yet
  std::int64_t wall_ns = 0;
  std::uint64_t init_ns = 0, last_ns = 0;  ///< `last_ns`: of what is known, where the process was killed
  std::uint64_t paused_ns = 0;             ///< between them, when calls were not recorded
  Kernels kernels;
  std::uint64_t clock_error_ns = 0;
  std::uint64_t calls_lost = 0, classes_lost = 0;
  std::vector<std::string> functions, reductions, types, phases, hows;
  std::vector<NamedCommunicator> communicators;
  std::vector<Sums> sums;
  std::vector<Messages> messages;
  std::vector<Sampled> variables;
  std::vector<Registrations> registered;  ///< by function
  std::uint64_t registered_most = 0;      ///< bytes at once, of all functions
  std::vector<TimedCall> calls;           ///< by thread, in order; of all threads not sorted

  /// The time that the process's share is of: from MPI_Init's end, or the first call, to the end, without pauses. 0
  /// of a process that ended before.
  std::uint64_t run_ns() const {
    const std::uint64_t whole = init_ns != 0 && last_ns > init_ns ? last_ns - init_ns : 0;
    return whole - std::min(whole, paused_ns);
  }
};

/// Reads a file's content, which is believed in nothing. `origin` names it in errors. Errors: corrupt (no such file,
/// cut off, or indices and names that cannot be), unsupported (of another version).
Result<Rank> read_rank(std::span<const std::byte> content, std::string_view origin);
/// Reads a file. Errors: not_found, permission_denied, system_error too.
Result<Rank> read_rank(const std::filesystem::path& file);

}  // namespace sennit::profile
