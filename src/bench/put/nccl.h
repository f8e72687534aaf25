// Calls NCCL's send and receive between the two ranks, from whatever libnccl.so.2 is here: it is opened at run time.
#pragma once

#include <memory>
#include <string>

#include "bench/put/variants.h"

namespace sennit::bench::put {

struct Nccl {
  std::unique_ptr<Variant> variant;  ///< null: see missing
  Missing missing;
  std::string version;  ///< "2.28.9"
};

/// Collective over all ranks of the node. The library: job.nccl (a file, or the folder that holds it), else what the
/// loader finds, else $NCCL_HOME/lib.
/// Errors: only of the exchange; what keeps NCCL from working is told in `missing`, the same on all ranks.
Result<Nccl> open_nccl(Rig& rig, const Job& job);

}  // namespace sennit::bench::put
