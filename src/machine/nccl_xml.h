// Reads and writes NCCL's topology XML, version 1 (what NCCL_TOPO_DUMP_FILE writes and NCCL_TOPO_FILE reads): any
// NCCL user's dump becomes a machine, and a machine becomes a topology for NCCL.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/status.h"
#include "machine/machine.h"

namespace sennit::machine {

/// Makes the machine that a dump describes, always valid (validate.h). Figures are what such links are specified to
/// deliver (prior.h, pci.h), as a dump holds no measurement; NVSwitches become one nvswitch0; unknown elements and
/// attributes are passed over. `origin` names it in errors and gives the machine its name. Errors: corrupt (not XML,
/// or a value that cannot be; `where` names the element), unsupported (another version, or several hosts in one
/// dump).
Result<Machine> from_nccl_xml(std::string_view xml, std::string_view origin);

/// Reads that from a file; errors also not_found, invalid_argument (larger than 16 MiB).
Result<Machine> load_nccl_xml(const std::filesystem::path& file);

/// Writes the topology as NCCL reads it. Kept: PCIe tree, NVLinks with their counts, NICs with their rates, NUMA
/// nodes. Lost, as the format has no place for them: measured figures, curves, memory sizes, names and UUIDs. PCI
/// addresses that the machine does not give are made up, as NCCL tells devices apart by them alone. Errors:
/// invalid_argument when PCIe links do not form a tree below each host.
Result<std::string> to_nccl_xml(const Machine& machine);

}  // namespace sennit::machine
