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
};

/// Where the formulas have none for an algorithm of the operation: all zero.
Work work_of(const Case& which, Algorithm algorithm, int ranks);

/// What a machine's GPUs take for it. Each number is a default: together they fit some 2000 measurements on 2 and 4 ×
/// H200, of all algorithms and most operations with 4 to 256 blocks from 1 KiB to 256 MiB, to within 15 % (root mean
/// square; what is near the best counts most). What they choose is within 20 % of the best of these everywhere.
struct Figures {
  double launch_us = 2.46;    ///< of a kernel in a graph
  double wide_us = 0.37;      ///< more, of blocks of more than 256 threads
  double crossing_us = 1.44;  ///< of a chunk and its signal
  double peer_us = 0.34;      ///< more, for every further peer
  double crowd_us = 0.0145;   ///< more, for every block beyond one an SM
  double handover_us = 3.33;
  double reduction_us = 2.31;  ///< of a program that reduces
  double chunk_us = 3.06;      ///< of every further chunk
  double packet_crossing_us = 0.53;
  double packet_peer_us = 0.5;      ///< more, for every further peer
  double packet_block_us = 0.0017;  ///< more, for every block that polls
  double link_gbps = 424;           ///< one way, of what a rank's blocks send to one peer
  double contention = 0.002;        ///< how much longer that takes, for every further peer at the same time
  double mesh_drift = 0.07;         ///< the same where blocks send more than a chunk
  double direct_drift = 0.2;        ///< and where nothing is sent on
  double packet_gbps = 462;         ///< the same of packets, tags counted
  double packet_contention = 0.1;
  double packet_read_gbps = 11.3;   ///< of packets taken or reduced by one block, tags not counted
  double block_copy_gbps = 26.1;    ///< of one block
  double block_reduce_gbps = 12.7;  ///< read by one block
  double general_factor = 1.2;      ///< on that, where rules are looked up
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
