#include "sim/papers/put_study.h"

#include <algorithm>

namespace sennit::sim {

MultiPathPut PutStudy::put(const char* from, const char* to, double bytes, int window, bool both_ways) const {
  MultiPathPut one;
  one.from = fabric_.network().index(from);
  one.to = fabric_.network().index(to);
  one.bytes = bytes;
  one.window = window;
  one.both_ways = both_ways;
  one.costs = costs_;
  return one;
}

double PutStudy::keep(const Result<double>& gbps) {
  if (!gbps) failed_ = gbps.status();
  return gbps ? *gbps : 0;
}

double PutStudy::straight(const char* from, const char* to, int window, bool both_ways) {
  return keep(bandwidth(fabric_, put(from, to, kLong, window, both_ways)));
}

Tuned PutStudy::tuned(const char* from, const char* to, int window, bool both_ways, double bytes) {
  const auto best = tune(fabric_, put(from, to, bytes, window, both_ways));
  if (!best) failed_ = best.status();
  return best ? *best : Tuned();
}

double PutStudy::staged(const char* from, const char* to, bool both_ways, double bytes, int streams) {
  double best = 0;
  MultiPathPut one = put(from, to, bytes, 1, both_ways);
  one.host_share = 1;
  for (one.streams = std::max(streams, 1); one.streams <= (streams > 0 ? streams : 8); ++one.streams)
    best = std::max(best, keep(bandwidth(fabric_, one)));
  return best;
}

double PutStudy::as_given(const char* from, const char* to, double bytes, double share, int streams) {
  MultiPathPut one = put(from, to, bytes, 1, false);
  one.host_share = share;
  one.streams = streams;
  return keep(bandwidth(fabric_, one));
}

void set_rate(machine::Machine& machine, machine::DeviceKind from, machine::DeviceKind to, double gbps) {
  for (machine::Link& link : machine.links) {
    const auto kinds = std::pair(machine.find(link.from)->kind, machine.find(link.to)->kind);
    if (kinds != std::pair(from, to) && kinds != std::pair(to, from)) continue;
    link.forward_gbps.value = link.backward_gbps.value = gbps;
    link.both_gbps.reset();
  }
}

}  // namespace sennit::sim
