// Carries the messages of one process with its peers over every path that pays, those through the peers' service
// included.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "comm/group.h"
#include "device/executor.h"
#include "path/plan_inputs.h"
#include "path/proxy_channel.h"
#include "path/transfer_engine.h"

namespace sennit::path {

class Transport {
 public:
  /// `device`: whose kernels run this process's side of host paths. `given`: somebody named the machine. `resolve`:
  /// what peers name, as ProxyService has it. `group` outlives it, and no other transport uses it. Peers that send
  /// here over host paths find this process's end from now on. Errors: those of transfer_options(), of
  /// TransferEngine::create and of ProxyService::create.
  static Result<std::unique_ptr<Transport>> create(std::shared_ptr<device::Executor> executor, comm::Group& group,
                                                   int device, PlanInputs inputs, bool given,
                                                   ProxyService::Resolve resolve);
  ~Transport();

  TransferEngine& transfer_engine() { return *transfer_engine_; }

  /// Moves `bytes` in the order of `lane`: see TransferEngine::copy. Whether as much comes the other way it finds out
  /// itself. Errors: invalid_argument where ends of this process overlap; those of TransferEngine::copy.
  Status move(End dst, End src, std::uint64_t bytes, device::Lane& lane);

 private:
  Transport(std::shared_ptr<device::Executor> executor, comm::Group& group, int device)
      : executor_(std::move(executor)), group_(group), device_(device) {}
  Result<ProxyChannel*> proxy_channel(int peer, Direction direction, RingShape shape);
  bool both_ways(int peer);

  const std::shared_ptr<device::Executor> executor_;
  comm::Group& group_;
  const int device_;
  std::mutex mutex_;  // held while a proxy channel is set up
  std::map<std::pair<int, Direction>, std::unique_ptr<ProxyChannel>> proxy_channels_;
  std::unique_ptr<TransferEngine> transfer_engine_;
  std::unique_ptr<ProxyService> service_;  // last: the proxy thread uses all the others for it
};

/// Errors: invalid_argument, where they overlap.
Status check_apart(const void* dst, const void* src, std::uint64_t bytes);

}  // namespace sennit::path
