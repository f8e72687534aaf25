// What sennit has for a communicator over several nodes, beside its counterpart among the ranks of this rank's node.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "net/enqueued_allreduce.h"
#include "shim/nccl/layout.h"
#include "shim/nccl/nccl_rail.h"
#include "shim/nccl/trial.h"

namespace sennit::shim::nccl {

class Across {
 public:
  /// Collective over the ranks of the node, of which `node` and `collectives` are and which outlive it. Errors, the
  /// same on all of them: those of net::EnqueuedAllreduce::create.
  static Result<std::unique_ptr<Across>> create(path::Node& node, coll::Collectives& collectives,
                                                std::unique_ptr<NcclRail> rail, const Layout& layout);

  /// Collective over the ranks of `all`, of all nodes: which sizes are faster so than by NCCL alone. Errors: those of
  /// try_out(). `emulated`: sizes that this host can do.
  Status try_out(comm::Exchange& all, const Enqueued& by_nccl, bool emulated);
  bool is_faster(std::uint64_t bytes) const { return by_rails(tried_, bytes); }

  /// Enqueues an allreduce. Errors: those of net::EnqueuedAllreduce::call.
  Status call(const coll::Request& request, device::Lane& lane);
  /// In reports: "rails over 2 nodes".
  const std::string& name() const { return name_; }
  NcclRail& rail() { return *rail_; }

 private:
  Across(path::Node& node, std::unique_ptr<NcclRail> rail, const Layout& layout);

  path::Node& node_;
  const std::string name_;
  const std::unique_ptr<NcclRail> rail_;
  std::unique_ptr<net::EnqueuedAllreduce> allreduce_;
  std::vector<Tried> tried_;
};

}  // namespace sennit::shim::nccl
