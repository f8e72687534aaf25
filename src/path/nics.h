// Finds the NIC by which a device sends and receives what leaves the node.
#pragma once

#include <vector>

#include "path/network.h"

namespace sennit::path {

/// A NIC, as a number of the network's, and the way there.
struct NearestNic {
  int nic = -1;  ///< -1: the device reaches none
  Hop hop;
};

/// Returns the NIC that a GPU or a host reaches over the widest way, and of equally wide ones over the fewest links.
/// Where there are several alike, GPUs take them in turn, and so do hosts. Pure.
NearestNic nearest_nic(const Network& network, int device);

/// Returns what a byte that leaves the node from a device takes on its way, the NIC's own limit too; or, if not
/// `leaves`, one that arrives there. Empty: the device reaches no NIC.
std::vector<Usage> usage_of_nic(const Network& network, int device, bool leaves);

}  // namespace sennit::path
