// Made-up machines and folders that the doctor's tests judge.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "doctor/situation.h"
#include "machine/nvml.h"

namespace sennit::doctor {

/// An empty folder of the running test; what an earlier run left there is gone.
inline std::filesystem::path scratch() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / "sennit-doctor-test" / test->test_suite_name() / test->name();
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

inline void write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

/// A link whose target need not exist, as those of /proc/self/ns.
inline void link(const std::filesystem::path& file, const std::string& target) {
  std::filesystem::create_directories(file.parent_path());
  std::filesystem::create_symlink(target, file);
}

inline Situation with_gpus() {
  return {"auto", true, true, "", "13.0.88"};
}
inline Situation without_gpus() {
  return {"auto", false, false, "", ""};
}
inline Situation told_host() {
  return {"host", true, true, "", "13.0.88"};
}

/// `count` GPUs at 0000:01:00.0, 0000:02:00.0, …, each with `links` active links to NVSwitches.
inline machine::NvmlReadings nvswitch_machine(int count, int links) {
  machine::NvmlReadings nvml;
  nvml.present = true;
  nvml.driver = "580.159";
  nvml.cuda = "13.0";
  for (int i = 0; i < count; ++i) {
    machine::NvmlGpu gpu;
    gpu.name = "NVIDIA H200";
    gpu.uuid = "GPU-" + std::to_string(i);
    gpu.pci = "0000:0" + std::to_string(i + 1) + ":00.0";
    gpu.fabric = true;
    for (int k = 0; k < links; ++k) {
      machine::NvmlNvlink one;
      one.index = k;
      one.active = true;
      one.remote = machine::NvlinkRemote::nvswitch;
      gpu.nvlinks.push_back(one);
    }
    nvml.gpus.push_back(gpu);
  }
  return nvml;
}

}  // namespace sennit::doctor
