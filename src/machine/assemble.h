// Makes the machine document from raw readings, in pure functions, so that tests cover machines that are not at hand.
#pragma once

#include <string>
#include <vector>

#include "machine/hwloc.h"
#include "machine/machine.h"
#include "machine/nvml.h"
#include "machine/sysfs.h"

namespace sennit::machine {

/// Holds what only CUDA knows of a GPU. This room does not use CUDA, so the caller passes it.
struct GpuExtra {
  std::string pci;  ///< any spelling; matched as an address
  int sm_count = 0;
  int copy_engines = 0;

  bool operator==(const GpuExtra&) const = default;
};

struct Readings {
  NvmlReadings nvml;
  SysfsReadings sysfs;
  HwlocReadings hwloc;
  std::vector<GpuExtra> extras;
  std::string date;  ///< ISO 8601 day
};

/// Assembles the machine that these readings describe, always valid (validate.h), with fingerprint, without curves.
/// GPUs are numbered by PCI address, hosts by NUMA node. Every figure is a specification or an assumption with its
/// reason. NVSwitches appear as one device, nvswitch0: a copy cannot choose between them. Without NVML, GPUs come
/// from the kernel's PCI tree alone, without UUIDs, memory and NVLinks, and the description says so.
Machine assemble(const Readings& readings);

/// Makes a machine for the host executor: `devices` (at least 1) pretended GPUs gpu0… with UUIDs HOST-0…, whose
/// memory is host memory; each has a link to host0 and to every other. All figures are assumed until measured.
Machine host_machine(int devices, const SysfsReadings& sysfs, const std::string& date);

}  // namespace sennit::machine
