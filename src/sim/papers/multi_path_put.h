// Plays the thesis' multi-path put (Temuçin 2021, section 4.3): a share of the message through host memory, cut in as
// many chunks as there are streams, the rest straight; all at the same time.
#pragma once

#include "sim/play.h"

namespace sennit::sim {

inline constexpr double kKiB = 1 << 10, kMiB = 1 << 20, kGiB = 1 << 30;

struct CopyCosts {
  double call_us = 10;  ///< of a copy, on the host: copies are asked for one after the other
  double start_us = 5;  ///< from then to its first byte, and from its last byte to whoever waits
};

struct MultiPathPut {
  int from = 0, to = 0;
  double bytes = 0;
  double host_share = 0;  ///< 0 to 1
  int streams = 1;        ///< hence chunks of the part through the host
  int window = 1;         ///< messages on their way at a time, as osu_bw has them; each waits for its stream
  bool both_ways = false;
  CopyCosts costs;
};

/// GB/s of all messages, both ways together. Errors: as play(); unsupported (no host memory near the source).
Result<double> bandwidth(const Fabric& fabric, const MultiPathPut& put);

/// The best of shares in steps of 5 % and of 1 to 8 streams: the papers tuned theirs like this, for every size.
struct Tuned {
  double gbps = 0, host_share = 0;
  int streams = 1;
};
Result<Tuned> tune(const Fabric& fabric, MultiPathPut put);

/// One put of a graph: what comes behind it needs the result. Copies from a GPU to the host use `down`, those from
/// the host `up`: one after the other, as its engines do them.
struct Engines {
  std::uint32_t host, direct, down, up;
};
Engines engines_of(Graph& graph);
Graph::Id add_put(Graph& graph, const Fabric& fabric, const MultiPathPut& put, const Engines& engines,
                  std::span<const Graph::Id> needs);

}  // namespace sennit::sim
