// Implements sennit's communicator beside one whose ranks are all on one node.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "plan/communicator.h"
#include "shim/mpi/comm/communicator.h"
#include "shim/mpi/comm/exchange.h"

namespace sennit::shim::mpi {

class OneNode final : public Communicator {
 public:
  /// Collective over the exchange's ranks. `executor`: of this rank, if it has one. Errors, the same on every rank:
  /// those of Node::create, of Collectives::meet, and of a rank without executor; of this one alone: out_of_memory.
  static Result<std::unique_ptr<OneNode>> create(std::unique_ptr<comm::Exchange> exchange,
                                                 Result<std::shared_ptr<device::Executor>> executor, int device);

  node::Node& node() { return inner_->node(); }
  coll::Collectives& collectives() { return inner_->collectives(); }

  int device() const override { return inner_->node().device(); }
  Status perform(Work& work) override;
  std::string plan_of(const Work& work) override;
  Status close() override;

  /// Begins the work, behind what was begun before, and waits for no rank. Errors: as Collectives::call.
  Status begin(Work& work);
  /// Returns whether the work that was begun last has ended. Errors: those of a wait that passed its limit, of a lost
  /// rank.
  Result<bool> ended();

 private:
  OneNode() = default;
  static Result<std::unique_ptr<OneNode>> make(std::unique_ptr<comm::Exchange> exchange,
                                               Result<std::shared_ptr<device::Executor>> executor, int device);
  Status enqueue(Work& work);
  Status enqueue_scan(const Work& work);
  Status call(const coll::Request& request);
  /// Scratch memory of at least so many bytes. Errors: out_of_memory, which ends the work of all ranks here.
  Result<std::byte*> scratch(std::uint64_t bytes);

  std::optional<plan::Communicator> inner_;
  device::Memory scratch_;              // of works that need some
  std::unique_ptr<device::Event> end_;  // of the work that was begun last; made when first needed
};

}  // namespace sennit::shim::mpi
