#include "doctor/visibility.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <system_error>

#include <fmt/format.h>

namespace sennit::doctor {

namespace {

namespace fs = std::filesystem;

bool is_gpu_node(const std::string& name) {
  constexpr std::string_view kPrefix = "nvidia";
  return name.size() > kPrefix.size() && name.starts_with(kPrefix) &&
         std::all_of(name.begin() + kPrefix.size(), name.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::string models(const std::vector<CudaDevice>& devices) {
  std::map<std::string, int> count;
  for (const CudaDevice& device : devices) ++count[device.model];
  std::string text;
  for (const auto& [model, number] : count) text += fmt::format("{}{} × {}", text.empty() ? "" : ", ", number, model);
  return text;
}

std::string fix_for(const VisibilityReadings& readings) {
  if (readings.slurm)
    return "srun --tres-bind=gres/gpu:none … (instead of --gpu-bind=closest or per_task, which put ranks into "
           "separate control groups)";
  if (readings.container) return "docker run --gpus all … (or NVIDIA_VISIBLE_DEVICES=all)";
  return "Ask the system's administrator for the other GPUs (ls -l /dev/nvidia*, cat /proc/self/cgroup)";
}

}  // namespace

VisibilityReadings read_visibility(const fs::path& root) {
  VisibilityReadings readings;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(root / "proc/driver/nvidia/gpus", ignored)) {
    (void)entry;
    ++readings.in_proc;
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(root / "dev", ignored)) {
    if (!is_gpu_node(entry.path().filename().string())) continue;
    ++readings.nodes;
    // access() asks the control group too, and does not wake the GPU as opening the node would.
    if (access(entry.path().c_str(), R_OK | W_OK) == 0) continue;
    ++readings.forbidden;
    readings.group = readings.group || errno == EPERM;
  }
  if (const char* const mask = std::getenv("CUDA_VISIBLE_DEVICES"); mask != nullptr) {
    readings.masked = true;
    readings.mask = mask;
  }
  readings.slurm = std::getenv("SLURM_JOB_ID") != nullptr;
  return readings;
}

Check judge_gpus(const Situation& situation, const DriverReadings& driver) {
  const Subject subject{"gpus", "GPUs", situation.gpus()};
  if (!situation.gpus()) return not_applicable(subject, situation.why_no_gpus());
  if (driver.devices.empty())
    return missing(subject, "CUDA shows no GPU to this process",
                   "See the lines on the CUDA driver and on hidden GPUs");
  const std::string what = models(driver.devices);
  if (driver.devices.size() == 1)
    return works(subject, what + "; with one GPU only, there are no pairs of GPUs to plan paths for");
  return works(subject, what);
}

Check judge_hidden(const Situation& situation, const VisibilityReadings& readings, const machine::NvmlReadings& nvml,
                   const DriverReadings& driver) {
  const Subject subject{"hidden_gpus", "GPUs hidden from this process"};
  if (!situation.gpus()) return not_applicable(subject, situation.why_no_gpus());
  const int shown = int(driver.devices.size());
  const int all = std::max({readings.in_proc, readings.nodes, int(nvml.gpus.size()), shown});
  if (all == 0) return not_applicable(subject, "Nothing tells how many GPUs this machine has");
  // The system leaves so many over, before CUDA_VISIBLE_DEVICES takes its part.
  const int allowed = nvml.present ? int(nvml.gpus.size()) : all - readings.forbidden;
  const int kept_away = std::max(all - std::max(allowed, shown), readings.forbidden);
  if (kept_away > 0)
    return degraded(subject,
                    fmt::format("{} of {} hidden by {}: ranks on them cannot share memory with this one", kept_away,
                                counted(all, "GPU"),
                                readings.group || !readings.forbidden ? "a control group or container"
                                                                      : "the mode of their device files"),
                    readings.group || !readings.forbidden
                        ? fix_for(readings)
                        : "sudo chmod 666 /dev/nvidia* (or join the group that owns "
                          "them)");
  if (shown >= all) return works(subject, fmt::format("CUDA shows all {}", counted(all, "GPU")));
  if (readings.masked)
    return degraded(subject,
                    fmt::format("CUDA_VISIBLE_DEVICES='{}' hides {} of {}: their links cannot carry other GPUs' "
                                "messages",
                                readings.mask, all - shown, counted(all, "GPU")),
                    "unset CUDA_VISIBLE_DEVICES");
  return degraded(subject,
                  fmt::format("CUDA shows {} of {}, though nothing forbids the others", shown, counted(all, "GPU")),
                  "Compare nvidia-smi -L with sudo dmesg | grep -i xid: a GPU in error is left out");
}

}  // namespace sennit::doctor
