// Reads what the NVIDIA management library says of this machine's GPUs. NVML is opened at run time, so that one build
// runs with and without a driver; its few declarations are our own (nvml.cc).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sennit::machine {

/// Says what is at the other end of an NVLink. `host` is a processor with NVLink ports (POWER8, POWER9).
enum class NvlinkRemote { gpu, host, nvswitch, unknown };

struct NvmlNvlink {
  int index = 0;
  bool active = false;
  NvlinkRemote remote = NvlinkRemote::unknown;
  std::string remote_pci;  ///< lower case; empty where hidden, as NVSwitches are in a virtual machine
  double raw_gbps = 0;     ///< one direction, signalling rate as NVML prints it; 0 where it does not say
};

struct NvmlGpu {
  std::string name, uuid;
  std::string pci;  ///< "0000:1b:00.0", lower case
  std::uint64_t memory_bytes = 0;
  int pcie_width = 0;                               ///< now; 0: unknown
  int pcie_max_generation = 0, pcie_max_width = 0;  ///< of this GPU in this slot
  std::vector<NvmlNvlink> nvlinks;                  ///< those NVML knows of, active or not
  bool fabric = false;                              ///< NVML reports a completed registration with an NVSwitch fabric
};

struct NvmlPair {
  int one = 0, other = 0;           ///< indices into gpus, one < other
  std::optional<bool> peer_nvlink;  ///< P2P goes over NVLink; absent where NVML does not say
  std::optional<bool> peer_read;    ///< P2P in both directions; not asked where it goes over NVLink
};

struct NvmlReadings {
  bool present = false;         ///< the library was opened and answered
  std::string problem;          ///< why not, in a sentence, where present is false
  std::string driver, cuda;     ///< "580.159", "13.0"
  std::vector<NvmlGpu> gpus;    ///< in NVML's order
  std::vector<NvmlPair> pairs;  ///< each pair once
};

/// Reads what is above and no more, as programs wait for it: of a pair of GPUs NVML answers in 1.7 ms whether they
/// are peers, and in 16 where PCIe joins them (measured, two H200). Never fails: what cannot be read keeps its
/// default. `library` is for tests.
NvmlReadings read_nvml(const std::string& library = "libnvidia-ml.so.1");

}  // namespace sennit::machine
