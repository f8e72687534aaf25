// Checks whether this process may run on processors near the GPUs.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "doctor/check.h"
#include "doctor/management.h"
#include "doctor/situation.h"

namespace sennit::doctor {

struct BindingReadings {
  std::set<int> allowed;                 ///< processors this process may run on
  std::map<int, std::set<int>> nodes;    ///< processors by NUMA node; nodes without any are left out
  std::map<std::string, int> gpu_nodes;  ///< NUMA node by PCI address; -1 where the kernel does not say
};

/// Reads ROOT/sys; allowed processors come from the kernel.
BindingReadings read_binding(const std::set<std::string>& gpus, const std::filesystem::path& root = "/");

Check judge_binding(const Situation& situation, const BindingReadings& readings, const Labels& label);

}  // namespace sennit::doctor
