#include <fmt/format.h>

#include "sim/costs.h"
#include "sim/papers/mpi_allreduce.h"
#include "sim/papers/put_study.h"

namespace sennit::sim {

namespace {

constexpr double kMessage = 64 << 20;
/// Fitted: see the list in study_cedar().
constexpr MpiCosts kOnCedar = {.message_us = 13, .host_gbps = 3.3, .put = {}};

}  // namespace

Result<Study> study_cedar(machine::Machine machine) {
  Study study;
  study.machine = machine.name;
  study.papers = {"Temuçin 2021 (thesis), chapter 4", "Temuçin et al. 2022 (IEEE Micro)"};
  study.fitted = {
      {"GPU to GPU", 46, "GB/s", "thesis, figure 4.3b; 92 both ways, figure 4.9"},
      {"a processor's copies and sums", kOnCedar.host_gbps, "GB/s", "104.1 times at 64 MiB, IEEE Micro, figure 6"},
      {"a message between GPUs", kOnCedar.message_us, "µs", "as on mist"},
      {"kernels, calls and copies", kOnCedar.kernel_us, "µs", "assumed, as on mist"},
  };
  const auto fabric = Fabric::create(machine, 1, Costs{}.memory_gbps);
  if (!fabric) return fabric.status();
  PutStudy puts(*fabric, kOnCedar.put);
  const auto add = [&](const char* figure, const char* what, const char* unit, double paper, double ours,
                       const char* why = "", bool fitted = false) {
    study.numbers.push_back({figure, what, unit, paper, ours, 0.25, false, why, fitted});
  };
  const double near = puts.tuned("gpu0", "gpu1", 1, false).gbps, far = puts.tuned("gpu0", "gpu2", 1, false).gbps;
  add("thesis, figure 4.3b", "put within a socket, straight", "GB/s", 46, puts.straight("gpu0", "gpu1", 1, false), "",
      true);
  add("thesis, figure 4.3b", "put within a socket, multi-path", "GB/s", 54, near);
  add("thesis, figure 4.4b", "put between sockets, multi-path", "GB/s", 54, far);
  add("thesis, figure 4.6", "MPI within a socket, window 1, multi-path", "GB/s", 56, near);
  add("thesis, figure 4.6", "MPI within a socket, window 64, multi-path", "GB/s", 59,
      puts.tuned("gpu0", "gpu1", 64, false).gbps);
  add("thesis, figure 4.7", "MPI between sockets, window 1, multi-path", "GB/s", 56, far);
  add("thesis, figure 4.7", "MPI between sockets, window 64, multi-path", "GB/s", 59,
      puts.tuned("gpu0", "gpu2", 64, false).gbps);
  add("thesis, figure 4.9", "both ways within a socket, straight", "GB/s", 92, puts.straight("gpu0", "gpu1", 1, true),
      "", true);
  add("thesis, figure 4.9", "both ways within a socket, multi-path", "GB/s", 108,
      puts.tuned("gpu0", "gpu1", 1, true).gbps);
  add("thesis, figure 4.9", "both ways within a socket, window 64, multi-path", "GB/s", 108,
      puts.tuned("gpu0", "gpu1", 64, true).gbps);
  add("thesis, figure 4.11", "both ways between sockets, multi-path", "GB/s", 108,
      puts.tuned("gpu0", "gpu2", 1, true).gbps);
  add("thesis, figure 4.11", "both ways between sockets, window 64, multi-path", "GB/s", 108,
      puts.tuned("gpu0", "gpu2", 64, true).gbps);

  const MpiAllreduce mpi(*fabric, kOnCedar);
  // The paper cuts "into more than 4 chunks"; here, as Table 5.1 has it for this size on mist.
  constexpr int kChunks = 8;
  const Tuned split = puts.tuned("gpu0", "gpu1", 1, false, kMessage / kChunks);
  const auto flat = mpi.flat(kMessage, kChunks), hosts = mpi.on_hosts(kMessage),
             levels = mpi.hierarchical(kMessage, kChunks, split.host_share, split.streams);
  for (const auto* each : {&flat, &hosts, &levels})
    if (!*each) return each->status();
  if (!puts.failed().ok()) return puts.failed();
  add("IEEE Micro, figure 6", "flat over Open MPI, 64 MiB", "x", 104.1, *hosts / *flat, "", true);
  add("IEEE Micro, figure 6", "flat over hierarchical, 64 MiB", "x", 2.77, *levels / *flat,
      "A leader's process here waits for each of its kernels, and sees to no message meanwhile: so on mist, too. How "
      "far "
      "the authors' overlapped them on this machine is not said.");
  // Six links a GPU, 20 GB/s each: NCCL's own figure for a V100's.
  constexpr double kNcclRings = 6 * 20;
  add("IEEE Micro, figure 6", "flat over NCCL, 64 MiB", "x", 1.06,
      MpiAllreduce::nccl_ring(kMessage, kNcclRings) / *flat,
      "NCCL's rings at the 20 GB/s that it counts on for a link of a V100.");
  study.designs.push_back({"flat, 64 MiB", *flat});
  return study;
}

}  // namespace sennit::sim
