// Estimates what a plan costs: how much its busiest rank has to do, by the formulas of docs/tune/algorithms/, and how
// long that takes with a machine's figures.
#pragma once

#include "coll/algorithms.h"
#include "coll/call_key.h"

namespace sennit::coll {

/// Says what the busiest rank of a plan does, one thing after the other. Bytes are of one rank.
struct Work {
  bool packets = false;  ///< data and tag together, instead of chunks with signals
  bool engines = false;  ///< copy engines carry the bytes
  bool apart = false;    ///< some ranks send while others take, or engines send while blocks take: the slower counts
  double crossings = 0;  ///< of the link, each waiting for the one before; where ranks do not wait for those they
                         ///< send to, calls overlap, and further crossings count a quarter
  double fan = 1;        ///< peers that it sends to, or takes from, at the same time
  double handovers = 0;  ///< times that a block goes from sending to taking what came
  double sent = 0;       ///< bytes over its link one way, tags not counted
  double pauses = 1;     ///< times as long that takes because its steps wait for each other: fitted
  double copied = 0;     ///< bytes taken out of scratch
  double reduced = 0;    ///< bytes that its reductions read
  double part = 0;       ///< bytes of which every block sends its part, chunk by chunk
  Layout layout = Layout::mesh;
  Way way = Way::push;
  bool meets = false;     ///< blocks meet, and send all at once, instead of chunks that are counted
  double by_engines = 0;  ///< bytes that copy engines carry afterwards, one flow to each peer
};

/// Returns the work of an algorithm; all zero where the formulas do not cover it in this operation.
Work work_of(const CallKey& which, Algorithm algorithm, int ranks);

/// Holds the times that a machine's GPUs take for such work. Each number is a default: together they fit some 8400
/// measurements on 2 and 4 × H200, of all algorithms and most operations with 4 to 256 blocks from 1 KiB to 256 MiB,
/// to within 12 % (root mean square; what is near the best counts most). A plan chosen by them is within 18 % of the
/// best of these everywhere, and within 8 % of it mostly.
struct Figures {
  double launch_us = 2;               ///< of a kernel in a graph
  double late_us = 0.5;               ///< more, of one that does not begin before the end of the one before
  double wide_us = 0.172;             ///< more, of blocks of more than 256 threads
  double crossing_us = 1.44;          ///< of a chunk and its signal
  double peer_us = 0.32;              ///< more, for every further peer
  double crowd_us = 0.0107;           ///< more, for every block beyond one an SM
  double meeting_us = 1.1;            ///< of blocks with all their peers, or what they sent before
  double meeting_handover_us = 1.13;  ///< of a block that goes on to read what came
  double handover_us = 3.26;
  double chunk_us = 3.83;  ///< of every further chunk
  double packet_crossing_us = 0.407;
  double packet_peer_us = 0.426;  ///< more, for every further peer
  double link_gbps = 394;         ///< one way, of what a rank's blocks send to one peer
  double pull_gbps = 349;         ///< the same of what they load from one
  double contention = 0.031;      ///< how much longer that takes, for every further peer at the same time
  double mesh_drift = 0.026;      ///< the same where blocks send more than a chunk
  double direct_drift = 0.0776;   ///< and where nothing is sent on
  double packet_gbps = 492;       ///< the same of packets, tags counted
  double packet_contention = 0.175;
  double packet_round_us = 0.3;     ///< of every packet that a thread sends to a peer, one after the other
  double packet_read_gbps = 604;    ///< of packets taken or reduced, tags not counted
  double block_copy_gbps = 22;      ///< of one block
  double block_reduce_gbps = 44.7;  ///< read by one block
  double general_factor = 1.2;      ///< on that, where rules are looked up
  double engine_gbps = 374;
  double engine_us = 30;         ///< of a call by copy engines
  double engine_chunk_us = 18;   ///< of a chunk and a peer: between a copy and the word that follows it, and waits
  double engine_call_us = 8.92;  ///< of copies into windows: meeting, and waiting for the last one
  double engine_flow_us = 5.11;  ///< of each such copy, beside its bytes
  int sms = 132;

  bool operator==(const Figures&) const = default;
};

/// Says where the time goes, in µs.
struct Cost {
  double launch_us = 0;    ///< starting, once
  double crossing_us = 0;  ///< waiting for signals, fences, chunks
  double moving_us = 0;    ///< bytes over links, and in memory
  double total_us() const { return launch_us + crossing_us + moving_us; }
};

/// Predicts the time from the last rank's start to the last rank's end. The plan can do the call (see most_bytes()).
Cost cost_of(const CallKey& which, const Plan& plan, const Team& team, const Figures& figures);
inline double predict_us(const CallKey& which, const Plan& plan, const Team& team, const Figures& figures) {
  return cost_of(which, plan, team, figures).total_us();
}

}  // namespace sennit::coll
