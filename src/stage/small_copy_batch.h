// Collects what messages brought to host memory, on its way to GPUs: of a call that completes several requests the
// short ones are copied together, since a GPU takes hardly longer for some than for one.
#pragma once

#include <map>
#include <vector>

#include "stage/gpus.h"

namespace sennit::stage {

class SmallCopyBatch {
 public:
  explicit SmallCopyBatch(Gpus& gpus) : gpus_(gpus) {}

  /// Returns whether so few bytes are worth collecting.
  static bool takes(std::uint64_t bytes) { return bytes <= SmallCopies::kMostToGpu; }
  /// Adds bytes, to be copied by end() at the latest; until then the host memory stays. Errors: those of a copy.
  Status add(void* gpu, const void* host, std::uint64_t bytes, const MemInfo& held);
  /// Copies what is left, and waits. Errors: those of a copy.
  Status end();

 private:
  struct Pipeline {
    MemInfo held;
    std::vector<SmallCopies::Piece> pieces;
  };
  Status copy(Pipeline& pieces);

  Gpus& gpus_;
  std::map<int, Pipeline> pieces_;  // by device
};

}  // namespace sennit::stage
