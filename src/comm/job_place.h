// Finds out which rank of which job this process is, from what its launcher put into the environment.
#pragma once

#include <map>
#include <string>

#include "base/status.h"

namespace sennit::comm {

struct JobPlace {
  int rank = 0;
  int size = 1;
  int local_rank = 0;      ///< among the ranks of this host
  int local_size = 1;      ///< ranks on this host; 0 when the launcher does not say
  std::string launcher;    ///< "sennit", "openmpi", "hydra", "slurm", "torchrun", "environment" or "alone"
  std::string rendezvous;  ///< "host:port" where rank 0 listens; empty: a file in the runtime folder says where
  std::string secret;      ///< of the job; empty when the rendezvous file holds it
  std::string job;         ///< names the job on this host where there is no rendezvous; the same on all its ranks
};

using Environment = std::map<std::string, std::string>;

/// Returns the environment of this process, and under "sennit.hydra" the name of the Hydra proxy (MPICH's per-host
/// launcher) that started it, when there is one: it appears in no variable.
Environment own_environment();

/// Reads, in this order: SENNIT_RANK; torchrun (TORCHELASTIC_RUN_ID); Open MPI 4 and 5 and other PRRTE launchers
/// (OMPI_COMM_WORLD_RANK, PMIX_RANK); MPICH's Hydra (PMI_RANK); Slurm (SLURM_STEP_ID: only processes that srun
/// started); RANK and WORLD_SIZE. None of them: rank 0 of 1. SENNIT_RENDEZVOUS and SENNIT_SECRET override where
/// and how ranks meet under every launcher. Pure.
/// Errors: invalid_argument names the variable that is missing, no number, or out of range.
Result<JobPlace> place_from(const Environment& environment);

/// place_from(own_environment()).
Result<JobPlace> place_from_environment();

/// Tasks on node `index` of Slurm's "4(x2),3". 0 when it is not said.
int slurm_tasks_on_node(const std::string& tasks_per_node, int index);

}  // namespace sennit::comm
