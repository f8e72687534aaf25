// The messages of one process with its peers: over every path that pays, those through the peers' service included.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "comm/group.h"
#include "device/executor.h"
#include "path/basis.h"
#include "path/courier.h"
#include "path/mover.h"

namespace sennit::path {

class Transport {
 public:
  /// `device`: whose kernels run this process's side of host paths. `given`: somebody named the machine. `resolve`:
  /// what peers name, as CourierService has it. `group` outlives it, and no other transport uses it. Peers that send
  /// here over host paths find this process's end from now on. Errors: those of mover_options(), of Mover::create and
  /// of CourierService::create.
  static Result<std::unique_ptr<Transport>> create(std::shared_ptr<device::Executor> executor, comm::Group& group,
                                                   int device, Basis basis, bool given,
                                                   CourierService::Resolve resolve);
  ~Transport();

  Mover& mover() { return *mover_; }

  /// Moves `bytes` in the order of `lane`: see Mover::copy. Whether as much comes the other way it finds out itself.
  /// Errors: invalid_argument where ends of this process overlap; those of Mover::copy.
  Status move(End dst, End src, std::uint64_t bytes, device::Lane& lane);

 private:
  Transport(std::shared_ptr<device::Executor> executor, comm::Group& group, int device)
      : executor_(std::move(executor)), group_(group), device_(device) {}
  Result<Courier*> courier(int peer, Errand errand, RingShape shape);
  bool both_ways(int peer);

  const std::shared_ptr<device::Executor> executor_;
  comm::Group& group_;
  const int device_;
  std::mutex mutex_;  // held while a courier is set up
  std::map<std::pair<int, Errand>, std::unique_ptr<Courier>> couriers_;
  std::unique_ptr<Mover> mover_;
  std::unique_ptr<CourierService> service_;  // last: the proxy thread uses all the others for it
};

/// Errors: invalid_argument, where they overlap.
Status check_apart(const void* dst, const void* src, std::uint64_t bytes);

}  // namespace sennit::path
