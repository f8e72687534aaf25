#include "path/mappings.h"

namespace sennit::path {

Result<std::shared_ptr<const Mapping>> Mappings::map(int rank, const device::Shareable& shareable, int device) {
  const std::lock_guard lock(mutex_);
  std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
  const Key key{rank, shareable.identity, device};
  // An identity of 0 says nothing.
  if (const auto found = known_.find(key); found != known_.end() && shareable.identity != 0)
    if (auto mapping = found->second.lock()) return mapping;
  auto memory = executor_.map(shareable, device);
  if (!memory) return memory.status();
  std::byte* const base = memory->data() - shareable.offset;
  std::shared_ptr<const Mapping> mapping(new Mapping{std::move(*memory), base});
  known_[key] = mapping;
  return mapping;
}

}  // namespace sennit::path
