// Says where a recorded job's ranks and memory lie on a machine, and what its movements ask of it.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "device/trace/recording.h"
#include "sim/costs.h"
#include "sim/fabric.h"

namespace sennit::sim {

/// What a movement takes of a fabric for each byte, and its own limit.
struct Demand {
  std::vector<path::Usage> uses;
  double gbps = kNever;
};

class Placement {
 public:
  /// Of one node; `gpus`: of each rank, ids of devices. All three outlive it. Errors: invalid_argument (a rank
  /// without a GPU of this machine), unsupported (GPUs that do not reach each other, and no host memory).
  static Result<Placement> create(const device::Recording& recording, const Fabric& fabric, const Costs& costs,
                                  const std::vector<std::string>& gpus);

  int gpu_of(std::uint32_t strand) const { return gpus_[static_cast<std::size_t>(recording_->strands[strand].rank)]; }
  /// Of a step of a strand, one of `moves` at the same time. Errors: invalid_argument (memory of no region),
  /// unsupported (no links lead there).
  Result<Demand> demand(std::uint32_t strand, const device::Step& step, double moves, bool packets) const;

 private:
  Placement(const device::Recording& recording, const Fabric& fabric, const Costs& costs)
      : recording_(&recording), fabric_(&fabric), costs_(&costs) {}
  Status place_regions();
  int sms_of(int gpu) const;

  const device::Recording* recording_;
  const Fabric* fabric_;
  const Costs* costs_;
  std::vector<int> gpus_;         // of each rank
  std::vector<int> places_;       // of each region: the device whose memory it is
  std::vector<double> folds_;     // of each strand: how many blocks it stands for
  std::vector<unsigned> shares_;  // of each strand: of how many blocks at the same time
};

}  // namespace sennit::sim
