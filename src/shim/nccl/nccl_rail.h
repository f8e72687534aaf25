// NCCL as what carries sums between nodes.
#pragma once

#include <memory>
#include <mutex>

#include "device/executor.h"
#include "net/lane_rail.h"
#include "shim/nccl/abi.h"

namespace sennit::shim::nccl {

class NcclRail final : public net::LaneRail {
 public:
  /// `comm`: of the ranks of the rail, with their GPUs; the rail's own from now on. `emulated`: NCCL is a stand-in
  /// that knows no streams and works while it is called: it is called when the lane has come so far.
  NcclRail(const Functions& nccl, Comm comm, std::unique_ptr<device::Lane> lane, bool emulated)
      : nccl_(nccl), comm_(comm), lane_(std::move(lane)), emulated_(emulated) {}
  ~NcclRail() override { end(false); }

  device::Lane& lane() override { return *lane_; }
  Status all_reduce(std::byte* data, std::uint64_t bytes, const device::Reduction& reduction) override;

  /// What NCCL says of the communicator. Errors: device_error.
  Status check() const;
  /// Lets the communicator go: in order once nothing of it is under way, and else whatever waits there ends. Once.
  void end(bool in_order);

 private:
  const Functions& nccl_;
  mutable std::mutex mutex_;  // one thread may ask while another one ends it
  Comm comm_;
  const std::unique_ptr<device::Lane> lane_;
  const bool emulated_;
};

}  // namespace sennit::shim::nccl
