// Parses PCI addresses as the kernel writes them, and says what a PCIe link of a generation and width delivers.
#pragma once

#include <string>
#include <string_view>

#include "machine/machine.h"

namespace sennit::machine {

/// "00000000:1B:00.0" (NVML), "1b:00.0" and "0000:1b:00.0" all become "0000:1b:00.0". Empty for anything else, and
/// for the all-ones address by which drivers hide a device.
std::string normal_pci(std::string_view text);

/// Returns the generation of a link speed as the kernel and NCCL print it ("16.0 GT/s PCIe" → 4); 0 when unknown.
int pcie_generation(std::string_view speed);

/// Returns the speed of a generation as the kernel prints it (4 → "16.0 GT/s PCIe").
std::string pcie_speed(int generation);

/// Returns the rate of a copy in one direction of a PCIe link: x16 delivers 3.2, 6.3, 12.5, 26, 55 and 110 GB/s for
/// generations 1 to 6, narrower links in proportion. Generations 1 to 5 are what bandwidth tests report for large
/// pinned copies, 6 is twice 5. Where the generation or the width is unknown, 3 or x16 is taken and the figure is
/// `assumed`.
Figure pcie_figure(int generation, int width);

/// Generation and width whose pcie_figure() lies nearest to `gbps`, the wider one of equals.
struct PcieShape {
  int generation = 0, width = 0;
};
PcieShape pcie_shape(double gbps);

}  // namespace sennit::machine
