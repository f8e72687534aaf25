// Holds the pair as one of its processes sees it: the memories that it owns, a lane for each direction, and the
// peer's window.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "bench/put/job.h"
#include "node/node.h"
#include "path/one_sided.h"

namespace sennit::bench::put {

/// Room before and after the messages in every buffer, which no message may touch.
inline constexpr std::uint64_t kMargin = 4096;

/// One end. Side 0 is where messages start one way, side 1 where they arrive.
struct Side {
  int device = path::kHost;
  device::Memory source, destination;  ///< room + 2 kMargin bytes each
  device::Lane* lane = nullptr;        ///< carries what this side sends; of a GPU, also where the side is host memory
  std::unique_ptr<device::Lane> own_lane;
};

class Rig {
 public:
  /// Collective over all ranks of the node, also those beyond the pair, which own no side. `room`: bytes of the
  /// messages in each buffer. Errors: out_of_memory and the like, the same on all ranks.
  static Result<std::unique_ptr<Rig>> open(node::Node& node, const Job& job, std::uint64_t room);
  /// Collective, before the node goes.
  Status close();

  node::Node& node() { return node_; }
  path::OneSided& one_sided() { return one_sided_; }
  bool in_one_process() const { return window_ == nullptr; }
  bool owns(int side) const { return sides_[std::size_t(side)].has_value(); }
  Side& side(int side) { return *sides_[std::size_t(side)]; }
  path::Window& window() { return *window_; }
  std::uint64_t room() const { return room_; }

  /// Returns the end where a message of `bytes` from `side` arrives, `offset` bytes into the other side's
  /// destination; its data is null where the peer's memory cannot be mapped.
  Result<path::End> target(int side, std::uint64_t offset, std::uint64_t bytes);

 private:
  explicit Rig(node::Node& node) : node_(node), one_sided_(node) {}
  Status allocate(const Job& job);

  node::Node& node_;
  path::OneSided one_sided_;
  std::uint64_t room_ = 0;
  std::array<std::optional<Side>, 2> sides_;
  std::shared_ptr<path::Window> window_;
};

}  // namespace sennit::bench::put
