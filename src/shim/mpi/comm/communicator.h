// Declares sennit's communicator beside one of MPI's: it has the same ranks, each with the GPU that its buffers are
// on.
#pragma once

#include <string>

#include "base/status.h"
#include "shim/mpi/call/translate.h"

namespace sennit::shim::mpi {

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int device() const = 0;

  /// Returns why the work is left to the real function after all, where that depends on what other ranks give; empty:
  /// it is not. Before perform(), on every rank; equal on all ranks. Errors: as perform().
  virtual Result<WhyNot> why_not(const Work& work) {
    (void)work;
    return WhyNot();
  }

  /// Does the work and waits for it. Every rank does the same. Errors: as Collectives::call.
  virtual Status perform(Work& work) = 0;

  /// Describes the plan that does such work: "two_shot_packets, 16 blocks".
  virtual std::string plan_of(const Work& work) = 0;

  /// Collective: no rank uses it any more.
  virtual Status close() = 0;
};

}  // namespace sennit::shim::mpi
