// Keeps forked children from holding a group's connections open.
#pragma once

#include "comm/agent.h"

namespace sennit::comm {

/// A child made by fork() without exec (a Python worker, say) inherits every descriptor. While it lived, peers
/// would not notice that its parent died. So every child closes the connections of its parent's groups first
/// thing; a group is of no use in a child.
class ForkGuard {
 public:
  static void watch(Agent* agent);
  static void forget(Agent* agent);

 private:
  static void before();
  static void in_parent();
  static void in_child();
};

}  // namespace sennit::comm
