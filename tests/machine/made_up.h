// Machines and folders that tests make up.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "machine/catalogue.h"
#include "machine/machine.h"
#include "places.h"

namespace sennit::machine {

inline std::filesystem::path data_folder() {
  return places::source("tests/machine/data");
}

inline std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Files of the machines that ship with sennit.
inline std::vector<std::filesystem::path> shipped() {
  const Result<std::vector<std::filesystem::path>> files = shipped_files();
  EXPECT_TRUE(files.ok()) << files.status().text();
  return files.ok() ? *files : std::vector<std::filesystem::path>{};
}

/// A fresh folder of this test's own.
inline std::filesystem::path scratch_folder() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const auto folder = std::filesystem::path(testing::TempDir()) /
                      (std::string("sennit_") + test->test_suite_name() + "_" + test->name());
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

inline void write_text(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
}

/// Two GPUs with NVLink and PCIe, one host; every member set to something that is not its default.
inline Machine two_gpus() {
  Machine machine;
  machine.name = "pair";
  machine.description = "Two GPUs, made up";
  machine.fingerprint = "0123456789abcdef";
  machine.driver = "580.1";
  machine.cuda = "13.0";
  machine.date = "2026-11-21";
  machine.references = {"Nobody, 2026, page 1"};
  const Figure half{0.5, Source::measured, 0.25, "timed"};
  const Figure wide{50.125, Source::specification, 0, "data sheet, 2 × 25 GB/s"};
  for (int i = 0; i < 2; ++i) {
    Device gpu;
    gpu.id = "gpu" + std::to_string(i);
    gpu.uuid = "GPU-0000000" + std::to_string(i);
    gpu.pci = "0000:1b:0" + std::to_string(i) + ".0";
    gpu.model = "NVIDIA V100";
    gpu.memory_bytes = 17179869184;
    gpu.sm_count = 80;
    gpu.copy_engines = 5;
    gpu.numa = 0;
    gpu.read_gbps = wide;
    machine.devices.push_back(gpu);
    Link link;
    link.from = gpu.id;
    link.to = "host0";
    link.forward_gbps = {12.5, Source::specification, 0, "gen3"};
    link.backward_gbps = {12.25, Source::assumed, 0, ""};
    link.latency_us = half;
    link.shared = true;
    link.peer_access = false;
    machine.links.push_back(link);
  }
  Device host;
  host.id = "host0";
  host.kind = DeviceKind::host;
  host.numa = 0;
  host.write_gbps = wide;
  host.read_write_gbps = wide;
  machine.devices.push_back(host);
  Link nvlink;
  nvlink.from = "gpu0";
  nvlink.to = "gpu1";
  nvlink.kind = LinkKind::nvlink;
  nvlink.count = 2;
  nvlink.forward_gbps = nvlink.backward_gbps = wide;
  nvlink.both_gbps = wide;
  machine.links.push_back(nvlink);
  machine.curves.push_back(
      {"gpu0", "gpu1", Method::sm, Traffic::both_ways, {{4096, 9.5, 0.5, 30}, {1u << 20, 30.25, 1, 20}}});
  machine.staged.push_back({"gpu1", "gpu0", "host0", Method::sm, half, wide, 262144, 8});
  return machine;
}

}  // namespace sennit::machine
