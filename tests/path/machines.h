// Machines that path/ is tested on, made in C++ so that a test can bend one: the published nodes of the multi-path
// literature, a measured one, and the shapes that have nothing to gain.
#pragma once

#include <string_view>

#include "machine/machine.h"
#include "path/split.h"

namespace sennit::path {

machine::Figure specified(double value);
machine::Figure measured(double value);

machine::Device gpu(int number, int copy_engines = 5);
machine::Device host(int number);
machine::Link link(std::string from, std::string to, machine::LinkKind kind, int count, double gbps_each_way);

/// 4 × H200 behind an NVSwitch, PCIe 5 to one host; measured curves, staged paths and limits.
machine::Machine hgx_h200_4();
/// The same from its links alone, as a specification would give them.
machine::Machine hgx_h200_4_unmeasured();
/// The same with GPUs named as the host executor names its devices.
machine::Machine machine_of_the_host_executor();
/// POWER9 with 4 × V100: 3 NVLink2 to the neighbour of the same socket, 3 to the host, X-Bus between sockets.
machine::Machine mist();
/// 4 × V100, 2 NVLink2 between every two, PCIe 3 to the host. `gpus` of them: with 2 there is nothing to relay
/// through.
machine::Machine cedar(int gpus = 4);
/// 8 × V100 in the hybrid cube mesh of the DGX-1: gpu0–gpu3 and gpu4–gpu7 fully joined, gpu i to gpu i + 4.
machine::Machine cube_mesh();
/// 4 GPUs behind two PCIe switches of one host, without NVLink.
machine::Machine pcie_only(bool peer_access = true);
/// Two sockets and no GPU.
machine::Machine host_only();

/// The part of a message, of 1, that goes by the route of this name; 0 when none does.
double share_of(const Split& split, std::string_view route);

}  // namespace sennit::path
