#include "stage/small_copy_batch.h"

namespace sennit::stage {

Status SmallCopyBatch::add(void* gpu, const void* host, std::uint64_t bytes, const MemInfo& held) {
  if (bytes == 0) return {};
  Pipeline& here = pieces_[held.device];
  here.pieces.push_back({gpu, host, bytes});
  if (SmallCopies::together(here.pieces) < here.pieces.size()) {
    here.pieces.pop_back();
    if (auto status = copy(here); !status) return status;
    here.pieces.push_back({gpu, host, bytes});
  }
  // Memory without sync_memops is copied by engines, and so is what is copied together with it.
  here.held = here.pieces.size() == 1 ? held : MemInfo{held.device, here.held.sync_memops && held.sync_memops};
  return {};
}

Status SmallCopyBatch::copy(Pipeline& pieces) {
  auto status = gpus_.to_gpu(pieces.pieces, pieces.held);
  pieces.pieces.clear();
  return status;
}

Status SmallCopyBatch::end() {
  Status first;
  for (auto& [device, pieces] : pieces_)
    if (!pieces.pieces.empty())
      if (auto status = copy(pieces); !status && first.ok()) first = status;
  return first;
}

}  // namespace sennit::stage
