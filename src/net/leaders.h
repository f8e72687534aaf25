// Says which ranks of a node send and receive for all of it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "machine/machine.h"

namespace sennit::net {

/// Returns the ranks that lead a node, one for each of its NICs, in the document's order of NICs: of the ranks whose
/// GPU is nearest to that NIC (path/nics.h) the one with the widest way there, then the fewest links, then the lowest
/// number. Where the machine shows no NIC that a rank reaches, each socket (NUMA node) with ranks is led by the
/// lowest of them. `devices`: of all ranks of the node, by rank, as the machine's document names them; an empty name
/// is that of a device which the document lacks. There is at least one leader. Pure: every rank of the node computes
/// the same.
std::vector<int> leaders_of(const machine::Machine& machine, std::span<const std::string> devices);

}  // namespace sennit::net
