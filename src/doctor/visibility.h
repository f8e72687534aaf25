// Checks which GPUs the machine has and which of them this process may use, and what hides the others.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "doctor/check.h"
#include "doctor/driver.h"
#include "doctor/situation.h"
#include "machine/nvml.h"

namespace sennit::doctor {

struct VisibilityReadings {
  int in_proc = 0;      ///< GPUs listed in /proc/driver/nvidia/gpus
  int nodes = 0;        ///< /dev/nvidia0, /dev/nvidia1, …
  int forbidden = 0;    ///< those of the nodes that a control group or their mode keeps from this process
  bool group = false;   ///< at least one is forbidden by a control group (EPERM, not EACCES)
  bool masked = false;  ///< CUDA_VISIBLE_DEVICES is set
  std::string mask;     ///< its value
  bool slurm = false;   ///< SLURM_JOB_ID is set
  bool container = false;
};

/// Reads below `root` and the environment; `container` is for the caller to fill in.
VisibilityReadings read_visibility(const std::filesystem::path& root = "/");

/// GPUs CUDA shows. One alone has no other to exchange with: paths over several links do not apply.
Check judge_gpus(const Situation& situation, const DriverReadings& driver);
Check judge_hidden(const Situation& situation, const VisibilityReadings& readings, const machine::NvmlReadings& nvml,
                   const DriverReadings& driver);

}  // namespace sennit::doctor
