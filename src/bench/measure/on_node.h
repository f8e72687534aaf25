// Allocates host memory near a GPU: pinned pages are on the NUMA node of the processor that asks for them.
#pragma once

#include <sched.h>

namespace sennit::bench::measure {

/// Keeps the calling thread on the processors of one NUMA node for a scope. Where that is not possible (node -1, no
/// such node, a node without processors, forbidden by a cgroup) it does nothing.
class OnNode {
 public:
  explicit OnNode(int node);
  ~OnNode();
  OnNode(const OnNode&) = delete;
  OnNode& operator=(const OnNode&) = delete;
  bool bound() const { return bound_; }

 private:
  cpu_set_t before_;
  bool bound_ = false;
};

}  // namespace sennit::bench::measure
