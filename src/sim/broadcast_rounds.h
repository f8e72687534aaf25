// Lays out broadcasts as rounds of messages. A staged one copies the message to host memory first, sends it between
// the nodes' memories, and copies it up to each GPU behind its arrival; the others send from GPU to GPU.
//
// Source: Chu et al., IEEE TPDS 2018, sections 3.1 (ring, k-nomial, multicast) and 5.1 (multicast_streaming).
#pragma once

#include "sim/rounds.h"

namespace sennit::sim {

Rounds broadcast_linear(const Ranks& ranks, double bytes);
Rounds broadcast_chain(const Ranks& ranks, double bytes);
/// Every rank that has the message gives it to k - 1 others in each round, the furthest first.
Rounds broadcast_knomial(const Ranks& ranks, double bytes);
Rounds broadcast_linear_staged(const Ranks& ranks, double bytes);
Rounds broadcast_chain_staged(const Ranks& ranks, double bytes);
Rounds broadcast_knomial_staged(const Ranks& ranks, double bytes);
/// One message that the network copies into a GPU of each NIC of all other nodes; ranks beside those read it there,
/// all at once. On the root's node such GPUs, and ranks beside the root, get it from the root.
Rounds broadcast_multicast(const Ranks& ranks, double bytes);
/// The same out of the root's host memory, where copies bring it, chunk by chunk.
Rounds broadcast_multicast_streaming(const Ranks& ranks, double bytes);

}  // namespace sennit::sim
