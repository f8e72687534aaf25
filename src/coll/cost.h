// What a plan should cost: how much its busiest rank has to do, by the formulas of docs/algorithms/, and how long that
// takes with a machine's figures.
#pragma once

#include "coll/algorithms.h"
#include "coll/case.h"

namespace sennit::coll {

/// What the busiest rank of a plan does, one thing after the other. Bytes are of one rank.
struct Work {
  bool packets = false;   ///< data and tag together, instead of chunks with signals
  bool engines = false;   ///< copy engines carry the bytes
  bool apart = false;     ///< some ranks send while others take, or engines send while blocks take: the slower counts
  double crossings = 0;   ///< of the link, each waiting for the one before
  double handovers = 0;   ///< times that a block goes from sending to taking what came
  double sent = 0;        ///< bytes over its link one way, tags not counted
  double copied = 0;      ///< bytes taken out of scratch
  double reduced = 0;     ///< bytes that its reductions read
  double part = 0;        ///< bytes of which every block sends its part, chunk by chunk
};

/// Where the formulas have none for an algorithm of the operation: all zero.
Work work_of(const Case& which, Algorithm algorithm, int ranks);

/// What a machine's GPUs take for it. Each number is a default: together they fit some 900 measurements on 2 × H200,
/// of most algorithms and operations with 4 to 256 blocks from 1 KiB to 64 MiB, to within 10 % (root mean square).
struct Figures {
  double launch_us = 2.16;            ///< of a kernel in a graph
  double crossing_us = 1.60;          ///< of a chunk and its signal
  double handover_us = 2.93;
  double reduction_us = 1.98;         ///< of a program that reduces
  double chunk_us = 1.80;             ///< of every further chunk
  double packet_crossing_us = 1.10;
  double packet_block_us = 0.003;     ///< of every block that polls
  double crowd_us = 0.015;            ///< a crossing, of every block beyond one an SM
  double wide_us = 0.38;              ///< of blocks of more than 256 threads
  double link_gbps = 346;             ///< one way, of what a rank's blocks send to all others
  double packet_gbps = 453;           ///< the same of packets, tags counted
  double packet_read_gbps = 10.5;     ///< of packets taken or reduced by one block, tags not counted
  double block_copy_gbps = 20.6;      ///< of one block
  double block_reduce_gbps = 19.6;    ///< read by one block
  double general_factor = 1.2;        ///< on that, where rules are looked up
  double engine_gbps = 380;
  double engine_us = 30;              ///< of a call by copy engines
  double engine_chunk_us = 11;
  int sms = 132;

  bool operator==(const Figures&) const = default;
};

/// Microseconds from the last rank's start to the last rank's end. The plan can do it (see most_bytes()).
double predict_us(const Case& which, const Plan& plan, const Team& team, const Figures& figures);

}  // namespace sennit::coll
