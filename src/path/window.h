// Registers memory of every rank of a communicator, and says how each peer's part is reached from here.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "comm/group.h"
#include "device/executor.h"
#include "path/end.h"
#include "path/mappings.h"
#include "path/offer.h"

namespace sennit::path {

class Window {
 public:
  /// Collective. Every rank gives its own bytes (any number, also 0 with a null pointer) in memory of a device or,
  /// for the host executor, of the executor. `number` is the same on all ranks. Errors: the same on every rank,
  /// naming the first that failed: invalid_argument (null, freed or pageable memory, more bytes than the allocation
  /// has).
  static Result<std::unique_ptr<Window>> create(comm::Group& group, device::Executor& executor, Mappings& mappings,
                                                int device, std::uint32_t number, void* data, std::uint64_t bytes);

  /// Unmaps the peers' parts; not to be used any more, neither is a message of it under way. Their owners may free
  /// the memory only then: that of a mapped allocation stays undefined with CUDA.
  void unmap();

  /// Returns whether all ranks' memory may be freed while peers have it mapped: so it is with files (cuMemCreate),
  /// whose memory lives as long as any mapping of it. Equal on every rank.
  bool outlives_owners() const;

  std::uint32_t number() const { return number_; }
  std::byte* data() const { return data_; }
  std::uint64_t bytes(int rank) const { return parts_[static_cast<std::size_t>(rank)].bytes; }

  /// [offset, offset + bytes) of `rank`'s part; mapped at first use. A part that cannot be mapped has a null data,
  /// and is still reached through the peer's service. Errors: invalid_argument (outside of the part, naming its
  /// size); unsupported (another node).
  Result<End> end(int rank, std::uint64_t offset, std::uint64_t bytes);
  /// Returns the first byte of `rank`'s part as lanes of this rank's device see it, which is all that collectives
  /// need. Unlike end(), which maps it for the part's own device too, it needs no context there. Errors: those of
  /// end(); unsupported where it cannot be mapped.
  Result<std::byte*> seen_here(int rank);

 private:
  struct Part {
    std::uint64_t bytes = 0;
    int device = -1;  // index here of the device that holds it; -1 where this process does not see it
    bool shareable = false;
    bool tried = false, tried_at_owner = false;
    Offered offered;
    std::shared_ptr<const Mapping> mapping, mapping_at_owner;
    /// Returns the part's first byte through one of the mappings; null where that is null.
    std::byte* seen_through(const std::shared_ptr<const Mapping>& one) const {
      return one != nullptr ? one->base + offered.memory.offset : nullptr;
    }
    std::string why_not;  // it cannot be mapped
  };

  Window(comm::Group& group, device::Executor& executor, Mappings& mappings, int device)
      : group_(group), executor_(executor), mappings_(mappings), device_(device) {}
  /// Checks that the bytes are in the part of a rank of this node. Errors: those of end().
  Status check(int rank, std::uint64_t offset, std::uint64_t bytes) const;
  /// Maps a part for this rank's device, or logs why not.
  void map(int rank, Part& part);
  Status try_to_map(int rank, Part& part);
  /// Maps a part that is mapped here for engines of its own device; without it only the direct path is left.
  void map_at_owner(int rank, Part& part);
  Result<std::shared_ptr<const Mapping>> map_for(int device, int rank, Part& part);

  comm::Group& group_;
  device::Executor& executor_;
  Mappings& mappings_;
  const int device_;
  std::uint32_t number_ = 0;
  std::byte* data_ = nullptr;
  int data_device_ = kHost;
  Offer offer_;  // ends with the window: peers must not use it any more (Registry::close)
  std::mutex mutex_;
  std::vector<Part> parts_;  // by rank
};

}  // namespace sennit::path
