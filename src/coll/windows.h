// Symmetric windows are memory that every rank has registered, and in which collectives use equal places on every
// rank. A program whose buffers lie there spares collectives the way through scratch.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "coll/algorithms.h"
#include "node/node.h"
#include "path/window.h"

namespace sennit::coll {

class Windows {
 public:
  struct One {
    const path::Window* window;
    std::byte* data;  ///< of this rank
    std::uint64_t bytes;
    std::byte* at[kMostRanks];  ///< every rank's, as this one reaches it
  };
  /// Collective. What there is to add; nothing where some rank cannot map another's part: then it is no use to
  /// collectives, on any rank, and they go through scratch. Errors, the same on every rank: invalid_argument (ranks
  /// have registered different lengths).
  static Result<std::optional<One>> look_at(node::Node& node, path::Window& window);
  void add(const One& one) { all_.push_back(one); }
  /// Removes a window, also one that was never added.
  void remove(const path::Window& window);
  bool has(const path::Window& window) const;

  /// Returns the addresses of the call's buffers on all ranks; no value unless the buffers lie in windows, as far as
  /// the operation reaches into them. Whether they do must be equal on every rank: the caller has promised that.
  std::optional<PeerPointers> reach(const Call& call, int size) const;

 private:
  /// Fills `at` with where `data` is at each rank.
  bool find(const std::byte* data, std::uint64_t bytes, std::byte* (&at)[kMostRanks]) const;

  std::vector<One> all_;
};

}  // namespace sennit::coll
