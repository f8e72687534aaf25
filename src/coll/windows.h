// Symmetric windows: memory that every rank has registered, and in which collectives use the same places on every
// rank. Who has its buffers there spares collectives the way through scratch.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "coll/algorithms.h"
#include "path/node.h"

namespace sennit::coll {

class Windows {
 public:
  /// Collective. Where some rank cannot map another's part, it is no use to collectives, on any rank: they go through
  /// scratch. Errors, the same on every rank: invalid_argument (ranks have registered different lengths).
  Status add(path::Node& node, const std::shared_ptr<path::Window>& window);
  /// Also of one that was never added.
  void remove(const path::Window& window);

  /// Where the call's buffers are on all ranks; none unless they lie in windows, as far as the operation reaches into
  /// them. Whether they do must be the same on every rank: its caller has promised that.
  std::optional<Reach> reach(const Call& call, int size) const;

 private:
  struct One {
    const path::Window* window;
    std::byte* data;  ///< of this rank
    std::uint64_t bytes;
    std::byte* at[kMostRanks];  ///< every rank's, as this one reaches it
  };
  /// Fills `at` with where `data` is at each rank.
  bool find(const std::byte* data, std::uint64_t bytes, std::byte* (&at)[kMostRanks]) const;

  std::vector<One> all_;
};

}  // namespace sennit::coll
