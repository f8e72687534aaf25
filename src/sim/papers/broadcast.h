// Plays the broadcast schemes of Chu et al. 2018 over a fabric's links, one GPU a node.
#pragma once

#include <string_view>
#include <vector>

#include "plan/broadcast_model.h"
#include "sim/messages.h"

namespace sennit::sim {

/// All in µs. Errors: as play().
class BroadcastSchemes {
 public:
  /// Where the message lies: at the root and at the receivers.
  struct Ends {
    bool from_host = false, to_host = false;
  };

  BroadcastSchemes(const Fabric& fabric, const Ranks& ranks, const plan::BroadcastModel& model);

  /// Ring-GDR-Pipeline: section 3.1.1.
  Result<double> ring(double bytes) const;
  /// MCAST-GDR (section 3.1.3), or, staged, the proposed one of section 5.1: chunks to host memory, from there by
  /// multicast into all GPUs. From the first `sources` ranks at the same time.
  Result<double> multicast(double bytes, bool staged, int sources) const;
  /// The proposed one with a host's memory at one end: no copies at the root, or none into GPUs.
  Result<double> heterogeneous(double bytes, const Ends& ends) const;

 private:
  int chunks(double bytes) const;
  Result<double> us(const std::vector<Rounds>& jobs, int chunks) const;
  std::vector<Rounds> jobs_of(std::string_view algorithm, double bytes, int sources) const;

  const Fabric& fabric_;
  Ranks ranks_;
  plan::BroadcastModel model_;
  std::vector<int> gpus_;  // of each rank
};

}  // namespace sennit::sim
