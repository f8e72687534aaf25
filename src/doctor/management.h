// Reads what NVML says of GPUs and NVLinks. This happens in a process of its own, so the answer travels as JSON.
#pragma once

#include <map>
#include <string>

#include "doctor/ask.h"
#include "doctor/check.h"
#include "doctor/situation.h"
#include "machine/nvml.h"

namespace sennit::doctor {

/// Reads NVML and tells {"nvml": …}; runs in a process of its own.
void probe_management();
/// Returns the readings that probe_management() told; not present, with the trouble as its problem, where it told
/// nothing.
machine::NvmlReadings management_readings(const Answer& answer);

/// "gpu0", "gpu1", … by PCI address, as machine documents number them. Addresses unknown to NVML come last.
class Labels {
 public:
  explicit Labels(const machine::NvmlReadings& nvml);
  std::string operator()(const std::string& pci) const;

 private:
  std::map<std::string, int> numbers_;
};

/// NVLinks that carry traffic between two GPUs, directly or through NVSwitches; 0 when there are none.
int nvlinks_between(const machine::NvmlReadings& nvml, std::size_t one, std::size_t other);

Check judge_management(const Situation& situation, const machine::NvmlReadings& nvml);
/// States of all NVLinks: an inactive link beside active ones is a fault.
Check judge_nvlinks(const Situation& situation, const machine::NvmlReadings& nvml);

}  // namespace sennit::doctor
