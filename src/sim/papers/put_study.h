// Holds what the studies of both machines with multi-path puts have in common.
#pragma once

#include "sim/papers/multi_path_put.h"
#include "sim/papers/study.h"

namespace sennit::sim {

/// Bandwidths of messages of 1 GiB between two GPUs: straight, and with the best share through the host. A status
/// stays in `failed`, so that a study's lines need not each be checked.
class PutStudy {
 public:
  PutStudy(const Fabric& fabric, const CopyCosts& costs) : fabric_(fabric), costs_(costs) {}

  double straight(const char* from, const char* to, int window, bool both_ways);
  Tuned tuned(const char* from, const char* to, int window, bool both_ways, double bytes = kLong);
  /// Through host memory alone, by the best of 1 to 8 streams.
  double staged(const char* from, const char* to, bool both_ways, double bytes = kLong, int streams = 0);
  /// The share and streams of a line of Table 4.1.
  double as_given(const char* from, const char* to, double bytes, double share, int streams);
  const Status& failed() const { return failed_; }

  static constexpr double kLong = 1 << 30;

 private:
  MultiPathPut put(const char* from, const char* to, double bytes, int window, bool both_ways) const;
  double keep(const Result<double>& gbps);

  const Fabric& fabric_;
  CopyCosts costs_;
  Status failed_;
};

/// Gives the links between devices of these kinds another rate, each way.
void set_rate(machine::Machine& machine, machine::DeviceKind from, machine::DeviceKind to, double gbps);

}  // namespace sennit::sim
