// Implements sennit's communicator beside one whose ranks are on several nodes: one of its ranks on this node, and a
// rail of the program's MPI to those in the same place on other nodes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/hierarchical.h"
#include "shim/mpi/comm/nodes.h"
#include "shim/mpi/comm/one_node.h"
#include "shim/mpi/comm/rail.h"

namespace sennit::shim::mpi {

class SeveralNodes final : public Communicator {
 public:
  ~SeveralNodes() override;
  /// Collective over `comm`. Errors: the same on every rank.
  static Result<std::unique_ptr<SeveralNodes>> create(const Mpi& mpi, Handle comm, CommShape shape,
                                                      const Nodes& nodes, net::Way way,
                                                      Result<std::shared_ptr<device::Executor>> executor, int device);
  /// Says why such work is left to the real function; empty: it is not. Equal on all ranks.
  static std::string_view why_not(const Mpi& mpi, const Work& work, const Nodes& nodes, net::Way way);

  int device() const override { return here_->device(); }
  Result<WhyNot> why_not(const Work& work) override;
  Status perform(Work& work) override;
  std::string plan_of(const Work& work) override;
  Status close() override;

 private:
  SeveralNodes(const Mpi& mpi, const Nodes& nodes) : mpi_(mpi), nodes_(nodes) {}
  /// Collective over `comm`: returns the ranks of this node that lead broadcasts, as many as of the node with the
  /// fewest adapters, and makes the communicators of those with the same place in these lists. `so_far`: this rank's
  /// status, which is an error of all where it is one anywhere.
  Result<std::vector<int>> agree_on_leaders(Handle comm, const CommShape& shape, const Status& so_far);
  /// Collective: what the ranks of an all-to-all-v have for each other, or those of a gather or scatter of different
  /// lengths for its root or from it.
  Status meet(const Work& work);
  /// Returns the messages of such a gather or scatter, after meet().
  net::OfOneRank messages_of(const Work& work) const;

  const Mpi& mpi_;
  const Nodes nodes_;
  net::Place own_;
  /// Holds the lengths of the latest meet(), in bytes, of all ranks; see also net::Messages.
  struct {
    std::uint64_t longest = 0, total = 0;
    std::vector<std::uint64_t> passed;  // all-to-all-v
  } lengths_;
  Handle node_comm_ = kNoHandle, rail_comm_ = kNoHandle, leader_comm_ = kNoHandle;
  std::unique_ptr<OneNode> here_;
  std::optional<MpiRail> rail_, leader_rail_;
  std::unique_ptr<net::Hierarchical> all_;
};

}  // namespace sennit::shim::mpi
