// sennit's communicator beside one of MPI's: the same ranks, each with the GPU that its buffers are on.
#pragma once

#include <memory>
#include <string>

#include "coll/collectives.h"
#include "path/node.h"
#include "shim/mpi/exchange.h"
#include "shim/mpi/translate.h"

namespace sennit::shim::mpi {

class Counterpart {
 public:
  /// Collective over `comm`, whose ranks are all on one node. `executor`: of this rank, if it has one. Errors,
  /// the same on every rank: those of Node::create, and of a rank without executor.
  static Result<std::unique_ptr<Counterpart>> create(const Mpi& mpi, Handle comm, CommShape shape,
                                                     Result<std::shared_ptr<device::Executor>> executor, int device);

  int device() const { return node_->device(); }

  /// Does the work and waits for it. Every rank does the same. Errors: as Collectives::call.
  Status perform(Work& work);

  /// How such work is done: "two_shot_packets, 16 blocks".
  std::string plan_of(const Work& work);

  /// Collective: no rank uses it any more.
  Status close();

 private:
  Counterpart() = default;

  std::unique_ptr<path::Node> node_;
  std::unique_ptr<coll::Collectives> collectives_;
  device::Memory scratch_;  // of works that need some
};

}  // namespace sennit::shim::mpi
