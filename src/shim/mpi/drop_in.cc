#include "shim/mpi/drop_in.h"

#include <cstdio>

#include "base/log.h"
#include "coll/layout_version.h"
#include "comm/wait.h"
#include "shim/map_check.h"
#include "shim/mpi/comm/agreement.h"
#include "shim/mpi/comm/map_look.h"

namespace sennit::shim::mpi {

bool DropIn::start() {
  CommShape world;
  if (mpi->shape(mpi->comm_world(), world) != 0) return false;
  job.rank = world.rank;
  reporting.begin(world.rank);
  Requested requested{switches.reorder, !asked_gpus().empty()};
  const auto any = agree(*mpi, world, coll::build_of(SENNIT_VERSION), memories->possible(),
                         comm::default_wait_limit(), &requested);
  if (!any) {
    job.apart = true;
    unmatched = any.status().code() != Code::mismatch;
    // No rank knows which ranks can print it, so a few do.
    if (job.rank % 16 < 2)
      std::fprintf(stderr, "sennit: rank %d runs without sennit%s: %s\n", job.rank,
                   stages_alone() ? ", but that its GPU buffers go through host memory" : "",
                   any.status().text().c_str());
    if (stages_alone()) mpi->begin_to_check();
    return false;
  }
  if (!*any) {
    if (switches.report && job.rank == 0)
      std::fputs("sennit: no rank can have GPU memory here (there is no NVIDIA driver), so calls pass as they are\n",
                 stderr);
    return false;
  }
  job.reorder = requested.reorder;
  job.mapped = requested.map;
  if (switches.reorder && !job.reorder && job.rank == 0)
    log(LogLevel::warning, "no topology is reordered: SENNIT_REORDER=1 did not reach every rank");
  mpi->begin_to_check();
  auto communicators = CommRegistry::create(*mpi, switches.between);
  if (communicators)
    job.communicators = std::move(*communicators);
  else if (job.rank == 0)
    log(LogLevel::warning, "GPU buffers go through host memory: " + communicators.status().text());
  return true;
}

void DropIn::finish() {
  progress.finish();
  queue.finish();
  rma.finish();
  transports.finish_pipeline();
  Status lost;
  if (job.communicators != nullptr && !job.communicators->forget_all()) lost = job.communicators->group().check();
  receives.finish();
  transports.finish();
  job.communicators.reset();
  mpi->end_checking();
  if (job.mapped && lost.ok()) look_at_map(*mpi, *memories);
  reporting.print();
  // Last, since most programs let MPI end them here. Its own MPI_Finalize ends where it tells of deaths.
  if (!lost.ok() && !mpi->tells_of_deaths()) (void)reporting.fail("MPI_Finalize", mpi->comm_world(), lost);
}

void DropIn::forget(Handle comm) {
  if (job.communicators == nullptr) return requests.forget_comm(comm);
  if (CommState* const one = job.communicators->find(comm)) {
    (void)arrivals.drain(comm, *one, CallQueues::Until::done);
    persistent.forget(*one);
    if (one->vote != nullptr) {
      one->vote->vote_no();
      (void)arrivals.wait_for_all(comm, *one);
    } else {
      (void)arrivals.wait_for_all("MPI_Comm_free", comm);
    }
  }
  requests.forget_comm(comm);
  job.communicators->forget(comm, [this] { progress.make(); });
}

void DropIn::forget_freed(Handle comm) {
  requests.forget_comm(comm);
  if (job.communicators != nullptr) job.communicators->forget_freed(comm);
}

}  // namespace sennit::shim::mpi
