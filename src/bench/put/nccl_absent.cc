#include "bench/put/nccl.h"

namespace sennit::bench::put {

Result<Nccl> open_nccl(Rig&, const Job&) {
  Nccl nccl;
  nccl.missing = "nccl is left out: this build has no CUDA; build sennit where nvcc is found.";
  return nccl;
}

}  // namespace sennit::bench::put
