// Says what kind of machine the doctor is on, and what this build can do: this decides which checks apply and which
// are needed.
#pragma once

#include <filesystem>
#include <string>

namespace sennit::doctor {

struct Situation {
  std::string executor = "auto";  ///< what the user asked for: auto, cuda or host
  bool gpu_traces = false;        ///< the NVIDIA driver left its traces in /proc and /dev
  bool cuda_build = false;        ///< this build has the cuda executor
  std::string cuda_trouble;       ///< why the cuda executor that is installed cannot be loaded; empty where it can
  std::string toolkit;            ///< CUDA toolkit of the build, "13.0.88"; empty without one

  /// True where sennit would use GPUs: they are here or were asked for by name, and were not declined.
  bool gpus() const { return executor == "cuda" || (executor == "auto" && gpu_traces); }
  /// Says why GPU checks do not apply; meaningful only where gpus() is false.
  std::string why_no_gpus() const {
    return executor == "host" ? "Skipped: the host executor was asked for" : "No NVIDIA GPU on this machine";
  }
};

/// Looks for the driver's traces below `root` (/proc/driver/nvidia, /dev/nvidia0 and, under WSL, /dev/dxg).
Situation read_situation(const std::string& executor, const std::filesystem::path& root = "/");

}  // namespace sennit::doctor
