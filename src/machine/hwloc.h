// Asks hwloc about processors and NUMA nodes, to fill gaps of the kernel's own files (processors without a model
// name, nodes whose memory is hidden). It is compiled in only where libhwloc is found, and never needed.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace sennit::machine {

struct HwlocReadings {
  bool present = false;  ///< built with hwloc, and it could read this machine
  std::string version;   ///< "2.9.0"
  std::string processor;
  std::map<int, std::uint64_t> memory_bytes;  ///< by NUMA node, as the operating system numbers them
};

HwlocReadings read_hwloc();

}  // namespace sennit::machine
