// DropIn is the drop-in of this process: what it owns, and when that begins and ends. Entry points call the services
// themselves (README.md has a map). A call that has GPU memory among its buffers takes one of these ways:
//
// 1. A collective with memory of one GPU at each rank becomes sennit's, if all ranks can (collective_calls.h). One
//    that ends in a request waits in its communicator's queue (call_queues.h).
// 2. A message from GPU memory without gaps is announced, and copied by the GPU at one of its ends or, between nodes,
//    in chunks (transports.h).
// 3. One-sided calls reach the window's GPU memory themselves (rma.h).
// 4. Everything else goes to the real function, with host memory in the place of GPU memory (staging.h).
#pragma once

#include <memory>
#include <utility>

#include "shim/mpi/coll/collective_calls.h"
#include "shim/mpi/coll/persistent_calls.h"
#include "shim/mpi/p2p/probes.h"
#include "shim/mpi/rma/rma.h"

namespace sennit::shim::mpi {

struct DropIn {
  DropIn(std::unique_ptr<Mpi> of, Switches from, std::unique_ptr<stage::PointerCache> memory)
      : mpi(std::move(of)), switches(std::move(from)), memories(std::move(memory)) {}

  /// Collective over MPI_COMM_WORLD, at the end of MPI_Init: finds out who is where. False: no process of the job can
  /// have GPU memory, and nothing is left to do.
  bool start();
  /// Returns, after a start() that failed, whether what this rank has on GPUs is staged: not all ranks have this
  /// drop-in.
  bool stages_alone() const { return job.apart && memories->possible(); }
  /// Collective, at the beginning of MPI_Finalize.
  void finish();
  /// Collective, before a communicator is freed: ends what the services have of it.
  void forget(Handle comm);
  /// Local, after that: its callbacks may have used it.
  void forget_freed(Handle comm);

  const std::unique_ptr<Mpi> mpi;
  const Switches switches;
  const std::unique_ptr<stage::PointerCache> memories;
  bool unmatched = false;  ///< some ranks may not even have taken part in start()

  // Each service knows those before it alone.
  Job job{*mpi, switches, *memories};
  Reporting reporting{*mpi, switches};
  Staging staging{*mpi, *memories, reporting, switches.linger};
  CallQueues queue{job, reporting, staging};
  RequestTable requests;
  Transports transports{job, staging};
  Receives receives{job, reporting, staging, transports, requests};
  Progress progress{job, reporting, staging, queue, transports, receives, requests};
  Probes probes{job, transports, receives, requests};
  Arrivals arrivals{job, reporting, queue, progress, requests};
  CollectiveCalls collectives{job, reporting, staging, arrivals, progress};
  PersistentCalls persistent{job, reporting, staging, queue, progress, arrivals, requests};
  Rma rma{job, reporting, staging, transports, progress};
};

}  // namespace sennit::shim::mpi
