// Holds what all services know of this process's MPI job. DropIn::start() fills it in and finish() empties it, while
// no other call of the program's is under way; in between all threads may read it. It has no lock: what it points at
// locks itself.
#pragma once

#include <memory>
#include <string_view>

#include "shim/mpi/call/call_names.h"
#include "shim/mpi/comm/comm_registry.h"
#include "shim/switches.h"
#include "stage/pointer_cache.h"

namespace sennit::shim::mpi {

struct Job {
  Job(const Mpi& of, const Switches& from, stage::PointerCache& memory) : mpi(of), switches(from), memories(memory) {}

  const Mpi& mpi;
  const Switches& switches;
  stage::PointerCache& memories;
  int rank = 0;                                 ///< of MPI_COMM_WORLD
  std::unique_ptr<CommRegistry> communicators;  ///< null: before MPI_Init, or the job's ranks could not meet
  bool apart = false;                           ///< not all ranks have this drop-in
  bool reorder = false;                         ///< all ranks have SENNIT_REORDER=1
  bool mapped = false;                          ///< all ranks have SENNIT_MAP

  /// Says why a call is staged where there are no communicators.
  static constexpr std::string_view kNotMet = "the job's ranks could not meet";
  /// Returns whether SENNIT_OPS lets sennit do the call.
  bool wants(const Call& call) const {
    return !switches.operations || switches.takes(name_of(call)) ||
           (is_message(call.family) && switches.takes(Switches::kMessages));
  }
  /// Returns ok while the rank, of MPI_COMM_WORLD, lives.
  Status check(int world_rank) const {
    return communicators == nullptr ? Status() : communicators->group().check({&world_rank, 1});
  }
};

}  // namespace sennit::shim::mpi
