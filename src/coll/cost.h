// What a plan should cost: how much its busiest rank has to do, by the formulas of docs/algorithms/, and how long
// that takes with a machine's figures.
#pragma once

#include "coll/algorithms.h"
#include "coll/case.h"

namespace sennit::coll {

/// What the busiest rank of a plan does, one thing after the other. Bytes are of one rank.
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
};

/// Where the formulas have none for an algorithm of the operation: all zero.
Work work_of(const Case& which, Algorithm algorithm, int ranks);

/// What a machine's GPUs take for it. Each number is a default: together they fit some 5000 measurements on 2 and 4 ×
/// H200, of all algorithms and most operations with 4 to 256 blocks from 1 KiB to 256 MiB, to within 12 % (root mean
/// square; what is near the best counts most). What they choose is within 12 % of the best of these everywhere.
struct Figures {
  double launch_us = 1.89;   ///< of a kernel in a graph
  double late_us = 0.97;     ///< more, of one that does not begin before the end of the one before
  double wide_us = 0.18;     ///< more, of blocks of more than 256 threads
  double crossing_us = 1.2;  ///< of a chunk and its signal
  double peer_us = 0.28;     ///< more, for every further peer
  double crowd_us = 0.0101;  ///< more, for every block beyond one an SM
  double handover_us = 3.14;
  double chunk_us = 3.17;  ///< of every further chunk
  double packet_crossing_us = 0.57;
  double packet_peer_us = 0.49;  ///< more, for every further peer
  double link_gbps = 400;        ///< one way, of what a rank's blocks send to one peer
  double pull_gbps = 331;        ///< the same of what they load from one
  double pull_us = 0.34;         ///< more, of a crossing, where they load
  double contention = 0.044;     ///< how much longer that takes, for every further peer at the same time
  double mesh_drift = 0.031;     ///< the same where blocks send more than a chunk
  double direct_drift = 0.072;   ///< and where nothing is sent on
  double packet_gbps = 462;      ///< the same of packets, tags counted
  double packet_contention = 0.09;
  double packet_round_us = 0.32;  ///< of every packet that a thread sends to a peer, one after the other
  double packet_read_gbps = 930;  ///< of packets taken or reduced, tags not counted
  double block_copy_gbps = 25;    ///< of one block
  double block_reduce_gbps = 45;  ///< read by one block
  double general_factor = 1.2;    ///< on that, where rules are looked up
  double engine_gbps = 380;
  double engine_us = 30;        ///< of a call by copy engines
  double engine_chunk_us = 18;  ///< of a chunk and a peer: between a copy and the word that follows it, and waits
  int sms = 132;

  bool operator==(const Figures&) const = default;
};

/// Where the time goes, in µs.
struct Cost {
  double launch_us = 0;    ///< starting, once
  double crossing_us = 0;  ///< waiting for signals, fences, chunks
  double moving_us = 0;    ///< bytes over links, and in memory
  double total_us() const { return launch_us + crossing_us + moving_us; }
};

/// From the last rank's start to the last rank's end. The plan can do it (see most_bytes()).
Cost cost_of(const Case& which, const Plan& plan, const Team& team, const Figures& figures);
inline double predict_us(const Case& which, const Plan& plan, const Team& team, const Figures& figures) {
  return cost_of(which, plan, team, figures).total_us();
}

}  // namespace sennit::coll
