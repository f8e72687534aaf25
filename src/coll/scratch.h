// Allocates scratch memory of a node's ranks, mapped by all of them: what a Team points to.
#pragma once

#include <memory>
#include <vector>

#include "coll/team.h"
#include "node/node.h"
#include "path/registry.h"

namespace sennit::coll {

/// SENNIT_SCRATCH as this process has it. Errors: invalid_argument.
Result<std::uint64_t> wanted_scratch();

class Scratch {
 public:
  /// Collective. `bytes` of memory on each rank's device, or, where some rank cannot map another's, of host memory
  /// that all reach. All ranks must be of one node, at most kMostRanks. Errors, the same on every rank: unsupported
  /// (more nodes or ranks), invalid_argument (too small for the ranks), out_of_memory.
  /// `blocks`: that collectives use; the slots of others are left to messages.
  static Result<std::unique_ptr<Scratch>> create(node::Node& node, std::uint64_t bytes,
                                                 unsigned blocks = kMostBlocks);

  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  /// Returns the team as a program on this rank's device sees it.
  const Team& team() const { return team_; }
  /// True where it lies in host memory.
  bool in_host_memory() const { return !files_.empty(); }
  /// Returns the bytes of device memory that it takes on this rank, and of host memory.
  std::uint64_t device_bytes() const { return in_host_memory() ? 0 : memory_.bytes(); }
  std::uint64_t host_bytes() const { return in_host_memory() ? bytes_ : 0; }

  /// Collective: to be called when no rank's programs use it any more; without it the memory of a rank that ends
  /// early may be freed while a peer still maps it.
  Status close();
  /// Gives up, not collectively, what this rank has mapped of others, when its programs run no more. Its own memory
  /// has to stay until all others have done the same.
  void unmap();

 private:
  struct HostFile {
    device::Memory mapped, pinned;  // the second is of the first
  };

  explicit Scratch(node::Node& node) : node_(node), registry_(node) {}
  using Allocate = Result<device::Memory> (device::Executor::*)(int, std::size_t);
  Status create_on_device(std::uint64_t bytes, Allocate allocate);
  Status create_in_host_memory(std::uint64_t bytes);

  node::Node& node_;
  path::Registry registry_;
  std::uint64_t bytes_ = 0;
  Team team_;
  device::Memory counts_;
  device::Memory memory_;
  std::shared_ptr<path::Window> window_;
  std::vector<HostFile> files_;  // by rank
};

}  // namespace sennit::coll
