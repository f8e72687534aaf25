// Decides which paths may be used, by what verification found, and what becomes of the machine where some may not.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "machine/machine.h"

namespace sennit::bench::measure {

/// Ordered pairs of device ids.
using Pairs = std::set<std::pair<std::string, std::string>>;

/// Takes links out of the machine until no copy between two `failed` devices can be planned over a direct way:
/// between GPUs a PCIe link loses its peer access and an NVLink bundle goes; between GPU and host the link goes. A
/// link that only these two share goes first; behind a switch, the link of the device that fails with more others,
/// since it is not known which way inside the switch is broken. Returns what was taken, as sentences.
std::vector<std::string> cut(machine::Machine& machine, const Pairs& failed);

/// Describes how two memories are joined; pairs that are alike have one text: "nvlink×18 nvlink×18 NVIDIA H200".
std::string likeness(const machine::Machine& machine, const std::string& from, const std::string& to);

}  // namespace sennit::bench::measure
