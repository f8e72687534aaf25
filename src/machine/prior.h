// Says what links deliver before anyone has measured them: rates of specifications, times the part of them that
// copies were seen to get. Every figure carries a note that says which; PCIe has pci.h.
#pragma once

#include <string_view>

#include "machine/machine.h"

namespace sennit::machine {

/// Returns the rate of one direction of `count` NVLinks that signal at `raw_gbps` each, as a large copy sees them.
/// Where the rate is not known (0), NVLink2's is taken and the figure is assumed. Factors between signalling and
/// copy: NVLink1 0.90, 2 0.93 (thesis, section 4.4.2: 46 of 50, 72 of 75), 3 0.92, 4 and later 0.83
/// (machines/hgx-h200-4.json: 395 of 478).
Figure nvlink_figure(double raw_gbps, int count);

/// Returns the signalling rate of one NVLink, one direction, by compute capability (70 → 25); 0 where such GPUs have
/// none.
double nvlink_raw_gbps(int compute_capability);

/// Compute capability by GPU model name ("NVIDIA H200" → 90); 0 when the name is not known.
int compute_capability(std::string_view model);

/// Processor generation, as /proc/cpuinfo and NCCL name it.
struct Processor {
  std::string_view vendor;  ///< "GenuineIntel", "AuthenticAMD", "IBM", "ARM"
  int family = 0, model = 0;
};

/// Returns the rate of one direction of the link between two NUMA nodes. Always assumed: nothing announces it.
/// Between sockets these are the figures that NCCL takes for GPU traffic; within one socket 60 GB/s.
Figure socket_figure(const Processor& processor, bool same_package);

/// Returns the sum of both directions of a PCIe link used at once: 0.86 of twice one direction, as one H200 was seen
/// to get (machines/hgx-h200-4.json: 95 of 110). Assumed everywhere else.
Figure pcie_both_figure(const Figure& one_way);

}  // namespace sennit::machine
