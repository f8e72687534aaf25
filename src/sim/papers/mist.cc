#include <fmt/format.h>

#include "base/units.h"
#include "sim/costs.h"
#include "sim/papers/mpi_allreduce.h"
#include "sim/papers/put_study.h"

namespace sennit::sim {

using machine::DeviceKind;

namespace {

/// Fitted: see the list in study_mist().
constexpr double kHostLink = 62, kSocket = 56;
constexpr MpiCosts kOnMist = {.message_us = 13, .host_gbps = 8.7, .put = {}};

/// Table 5.1, from 2 MiB on. From 64 MiB on it also has leaders exchange over PCIe instead of NVLink, whose rate
/// between sockets is not given.
struct Line {
  double bytes;
  bool multi_path;
  int chunks;
};
constexpr Line kTable51[] = {{2 * kMiB, false, 2},   {4 * kMiB, false, 2},   {8 * kMiB, false, 4},
                             {16 * kMiB, true, 4},   {32 * kMiB, true, 8},   {64 * kMiB, true, 8},
                             {128 * kMiB, true, 16}, {256 * kMiB, true, 16}, {512 * kMiB, true, 16},
                             {kGiB, true, 16}};

constexpr const char* kShares =
    "With the shares of Table 4.1 70 to 75 % would go straight: at 120 GB/s 84 to 90, over links of 75. Tuned here.";

void puts(Study& study, PutStudy& study_puts) {
  const auto add = [&](const char* figure, const char* what, double paper, double ours, const char* why = "",
                       bool fitted = false) {
    study.numbers.push_back({figure, what, "GB/s", paper, ours, 0.25, false, why, fitted});
  };
  const double one = study_puts.straight("gpu0", "gpu1", 1, false);
  const Tuned put = study_puts.tuned("gpu0", "gpu1", 1, false);
  study.numbers.push_back(
      {"thesis, figure 4.3a", "put within a socket, straight", "GB/s", 72, one, 0.25, false, "", true});
  add("thesis, figure 4.3a", "put within a socket, multi-path", 120, put.gbps, kShares);
  const double host = study_puts.staged("gpu0", "gpu1", false);
  study.numbers.push_back({"slides", "unused bandwidth, hence through the host", "GB/s", 53, host, 0.25, false,
                           "The best of 1 to 8 streams.", true});
  add("thesis, figure 4.5", "MPI within a socket, window 1, multi-path", 122, put.gbps);
  const Tuned window = study_puts.tuned("gpu0", "gpu1", 64, false);
  add("thesis, figure 4.5", "MPI within a socket, window 64, multi-path", 134, window.gbps);
  add("thesis, figure 4.8", "both ways, window 1, straight", 137, study_puts.straight("gpu0", "gpu1", 1, true), "",
      true);
  add("thesis, figure 4.8", "both ways, window 1, multi-path", 189, study_puts.tuned("gpu0", "gpu1", 1, true).gbps);
  add("thesis, figure 4.8", "both ways, window 64, multi-path", 182, study_puts.tuned("gpu0", "gpu1", 64, true).gbps);
  study.numbers.push_back({"thesis, figure 4.10", "both ways through the host alone", "GB/s", 68,
                           study_puts.staged("gpu0", "gpu1", true), 0.25, false, "", true});
  const double inter = study_puts.straight("gpu0", "gpu2", 1, false);
  study.numbers.push_back({"thesis, section 5.3.3", "put between sockets", "GB/s", 56, inter, 0.25, false, "", true});
  const Tuned between = study_puts.tuned("gpu0", "gpu2", 1, false);
  study.claims.push_back({"thesis, figure 4.4a", "between sockets a second path gains nothing",
                          between.gbps < 1.02 * inter,
                          fmt::format("{:.0f} GB/s straight, {:.0f} at best", inter, between.gbps)});
  // Table 4.1.
  const std::tuple<double, double, int> table[] = {
      {kMiB, 0.25, 1},       {2 * kMiB, 0.25, 1},   {4 * kMiB, 0.25, 1},  {8 * kMiB, 0.25, 1},
      {16 * kMiB, 0.25, 1},  {32 * kMiB, 0.30, 2},  {64 * kMiB, 0.30, 2}, {128 * kMiB, 0.30, 3},
      {256 * kMiB, 0.30, 6}, {512 * kMiB, 0.30, 6}, {kGiB, 0.30, 6}};
  for (const auto& [bytes, share, streams] : table) {
    const Tuned best = study_puts.tuned("gpu0", "gpu1", 1, false, bytes);
    study.numbers.push_back({"thesis, table 4.1", "share through the host, " + format_bytes(std::uint64_t(bytes)),
                             "%", share * 100, best.host_share * 100, 0.25, false,
                             fmt::format("See figure 4.3a: by that share {:.0f} GB/s, by ours {:.0f}.",
                                         study_puts.as_given("gpu0", "gpu1", bytes, share, streams), best.gbps),
                             false, true});
    study.numbers.push_back({"thesis, table 4.1", "streams, " + format_bytes(std::uint64_t(bytes)), "streams",
                             double(streams), double(best.streams), 2, true,
                             "Beyond some streams little changes: here another one is taken for half a per cent.",
                             false, true});
  }
  const double few = study_puts.staged("gpu0", "gpu1", false, 256 * kKiB, 1),
               many = study_puts.staged("gpu0", "gpu1", false, 256 * kKiB, 8),
               long_few = study_puts.staged("gpu0", "gpu1", false, kGiB, 1),
               long_many = study_puts.staged("gpu0", "gpu1", false, kGiB, 8);
  study.claims.push_back({"thesis, figure 4.1", "one stream is best for short messages, many for long ones",
                          few > many && long_many > long_few,
                          fmt::format("256 KiB: {:.1f} GB/s by 1, {:.1f} by 8; 1 GiB: {:.0f} by 1, {:.0f} by 8", few,
                                      many, long_few, long_many)});
  study.claims.push_back({"thesis, figure 4.1", "through the host alone no number of streams reaches a straight copy",
                          host < one, fmt::format("{:.0f} of {:.0f} GB/s", host, one)});
  const double small = study_puts.tuned("gpu0", "gpu1", 1, false, 256 * kKiB).host_share,
               large = study_puts.tuned("gpu0", "gpu1", 1, false, 4 * kMiB).host_share;
  study.claims.push_back({"thesis, table 4.1 and section 4.5",
                          "short messages gain nothing, those from 1 to 4 MiB on do", small == 0 && large > 0,
                          fmt::format("share of 256 KiB {:.0f} %, of 4 MiB {:.0f} %", small * 100, large * 100)});
}

Status allreduces(Study& study, const Fabric& fabric, PutStudy& puts) {
  const MpiAllreduce mpi(fabric, kOnMist);
  Status failed;
  const auto us = [&](const Result<double>& result) {
    if (!result) failed = result.status();
    return result ? *result : 1;
  };
  const auto hierarchical = [&](double bytes) {
    const Line* line = kTable51;
    for (const Line& each : kTable51)
      if (each.bytes <= bytes) line = &each;
    const double chunk = bytes / line->chunks;
    const Tuned split = line->multi_path ? puts.tuned("gpu0", "gpu1", 1, false, chunk) : Tuned();
    return us(mpi.hierarchical(bytes, line->chunks, split.host_share, split.streams));
  };
  const auto add = [&](const char* figure, const std::string& what, double paper, double ours, const char* why = "",
                       bool fitted = false) {
    study.numbers.push_back({figure, what, "x", paper, ours, 0.25, false, why, fitted});
  };
  add("thesis, figure 5.3", "GPU kernels over Open MPI, 1 MiB", 3.8,
      us(mpi.on_hosts(kMiB)) / us(mpi.by_kernels(kMiB)), "", true);
  add("thesis, figure 5.3", "GPU kernels over Open MPI, 1 GiB", 9.5,
      us(mpi.on_hosts(kGiB)) / us(mpi.by_kernels(kGiB)));
  add("thesis, figure 5.4", "tuned over GPU kernels, 512 KiB", 4.5,
      us(mpi.by_kernels(512 * kKiB)) / us(mpi.tuned(512 * kKiB)),
      "Open MPI's table takes a ring here, of 6 messages and 3 kernels one after the other; the best has 2 and 2. "
      "What "
      "the authors' build took instead is not said.");
  add("thesis, figure 5.4", "tuned over GPU kernels, 64 MiB", 1.44,
      us(mpi.by_kernels(64 * kMiB)) / us(mpi.tuned(64 * kMiB)));
  add("thesis, figure 5.4", "tuned over GPU kernels, 1 GiB", 1.49, us(mpi.by_kernels(kGiB)) / us(mpi.tuned(kGiB)));
  double least = kNever, most = 0;
  for (const Line& line : kTable51) {
    const double gain = us(mpi.tuned(line.bytes)) / hierarchical(line.bytes);
    least = std::min(least, gain);
    most = std::max(most, gain);
  }
  add("thesis, figure 5.5", "hierarchical over tuned, least of 2 MiB to 1 GiB", 1 / (1 - 0.014), least,
      "Of 2 MiB, where each of its eight messages and kernels counts.");
  add("thesis, figure 5.5", "hierarchical over tuned, most of 2 MiB to 1 GiB", 1 / (1 - 0.064), most);
  add("thesis, figure 5.6", "hierarchical over Open MPI, 64 MiB", 14.33,
      us(mpi.on_hosts(64 * kMiB)) / hierarchical(64 * kMiB));
  add("thesis, figure 5.6", "hierarchical over Open MPI, 1 GiB", 15.63, us(mpi.on_hosts(kGiB)) / hierarchical(kGiB),
      "", true);
  // 32 GB/s between POWER9 sockets: NCCL's own figure for them.
  constexpr double kNcclRing = 32;
  add("thesis, figure 5.6", "hierarchical over NCCL, 64 MiB", 1.25,
      MpiAllreduce::nccl_ring(64 * kMiB, kNcclRing) / hierarchical(64 * kMiB),
      "NCCL's ring at the 32 GB/s that it counts on between POWER9 sockets.");
  add("thesis, figure 5.6", "hierarchical over NCCL, 1 GiB", 1.38,
      MpiAllreduce::nccl_ring(kGiB, kNcclRing) / hierarchical(kGiB),
      "NCCL's ring at the 32 GB/s that it counts on between POWER9 sockets.");
  study.claims.push_back({"thesis, figure 5.5", "from 2 MiB on the hierarchical design is faster than the tuned one",
                          least > 1, fmt::format("{:.2f} to {:.2f} times as fast", least, most),
                          "A leader's process here waits for its kernels and sees to no message meanwhile. If it "
                          "waited for none, the design "
                          "would be 1.5 times as fast as tuned at 1 GiB; the paper's 1.07 lies between."});
  study.designs.push_back({"hierarchical, 64 MiB", hierarchical(64 * kMiB)});
  study.claims.push_back({"thesis, figure 5.3", "a medium message is added up sooner by processors",
                          us(mpi.on_hosts(16 * kKiB)) < us(mpi.by_kernels(16 * kKiB)),
                          fmt::format("16 KiB: {:.0f} µs by processors, {:.0f} by kernels",
                                      us(mpi.on_hosts(16 * kKiB)), us(mpi.by_kernels(16 * kKiB)))});
  return failed;
}

Status several_nodes(Study& study, const machine::Machine& machine) {
  for (const int nodes : {2, 4}) {
    const auto fabric = Fabric::create(machine, nodes, Costs{}.memory_gbps);
    if (!fabric) return fabric.status();
    const MpiAllreduce mpi(*fabric, kOnMist);
    const auto ours = mpi.over_nodes(64 * kMiB), open_mpi = mpi.on_hosts(64 * kMiB);
    if (!ours) return ours.status();
    if (!open_mpi) return open_mpi.status();
    const std::string figure = nodes == 2 ? "IEEE Micro, figure 7" : "IEEE Micro, figure 8";
    study.claims.push_back({figure, fmt::format("{} nodes, 64 MiB: faster than Open MPI", nodes), *ours < *open_mpi,
                            fmt::format("{:.1f} times as fast", *open_mpi / *ours)});
    // 12 GB/s: NCCL's own figure for such a card.
    const double nccl = MpiAllreduce::nccl_ring(64 * kMiB, 12, 4 * nodes);
    study.claims.push_back({figure, fmt::format("{} nodes, 64 MiB: slower than NCCL", nodes), *ours > nccl,
                            fmt::format("{:.2f} times as fast as its ring through one card of 12 GB/s", nccl / *ours),
                            "How many ports of its card a node uses is not said; of two, NCCL would take both."});
  }
  return {};
}

}  // namespace

Result<Study> study_mist(machine::Machine machine) {
  Study study;
  study.machine = machine.name;
  study.papers = {"Temuçin 2021 (thesis), chapters 4 and 5", "Temuçin et al. 2022 (IEEE Micro)",
                  "Temuçin 2023 (slides)"};
  study.fitted = {
      {"GPU to GPU of a socket", 72, "GB/s", "figure 4.3a; 137 both ways, figure 4.8"},
      {"GPU to its host", kHostLink, "GB/s", "53 GB/s of unused bandwidth, slides"},
      {"host memory, read and written", 136, "GB/s", "68 GB/s both ways through the host alone, figure 4.10"},
      {"between sockets", kSocket, "GB/s", "section 5.3.3"},
      {"a message between GPUs", kOnMist.message_us, "µs", "3.8 times at 1 MiB, figure 5.3"},
      {"a processor's copies and sums", kOnMist.host_gbps, "GB/s", "15.63 times at 1 GiB, figure 5.6"},
      {"a call of a copy, and its start", kOnMist.put.call_us + kOnMist.put.start_us, "µs", "assumed"},
      {"a kernel that adds", kOnMist.kernel_us, "µs", "assumed; 200 GB/s by a V100's memory"},
      {"a copy to or from pageable memory", kOnMist.host_copy_us, "µs", "assumed"},
      {"a message between processes", kOnMist.host_message_us, "µs", "assumed; 14 to another node"},
  };
  set_rate(machine, DeviceKind::gpu, DeviceKind::host, kHostLink);
  set_rate(machine, DeviceKind::host, DeviceKind::host, kSocket);
  const auto fabric = Fabric::create(machine, 1, Costs{}.memory_gbps);
  if (!fabric) return fabric.status();
  PutStudy put_study(*fabric, kOnMist.put);
  puts(study, put_study);
  if (auto status = allreduces(study, *fabric, put_study); !status) return status;
  if (!put_study.failed().ok()) return put_study.failed();
  if (auto status = several_nodes(study, machine); !status) return status;
  study.left_out = {
      {"IEEE Micro, figures 7 and 8", "1.18 times MVAPICH2-GDR at 64 MiB on two nodes",
       "What MVAPICH2-GDR, Spectrum MPI and HPC-X do is not published; nor are they in figure 5.6's 1.09 to 12.25 "
       "times."},
  };
  return study;
}

}  // namespace sennit::sim
