// All ranks of a team in one process, each with a lane of the host executor and scratch in plain memory: the
// protocols alone, with every address the same for all, so that ThreadSanitizer sees who orders what.
#pragma once

#include <memory>
#include <vector>

#include "coll/allreduce_copy_engines.h"
#include "coll/team.h"
#include "device/executor.h"

namespace sennit::coll {

class LocalTeam {
 public:
  /// `slot_bytes`: of a mesh; small ones make many chunks of few bytes.
  LocalTeam(int size, std::uint64_t slot_bytes, std::chrono::nanoseconds timeout = std::chrono::seconds(60)) {
    for (int rank = 0; rank < size; ++rank) {
      const Shape shape =
          Shape::of_block(slot_bytes * depth_of(Layout::mesh) * static_cast<unsigned>(size - 1), size);
      executors_.push_back(*device::open_host_executor());
      executors_.back()->set_timeout(timeout);
      lanes_.push_back(std::move(*executors_.back()->lane(0)));
      scratch_.push_back(std::move(*executors_.back()->allocate(0, shape.bytes())));
      counts_.push_back(std::make_unique<std::vector<BlockCounts>>(kMostBlocks));
      Team team;
      team.rank = rank;
      team.size = size;
      team.shape = shape;
      team.counts = counts_.back()->data();
      teams_.push_back(team);
    }
    for (Team& team : teams_)
      for (std::size_t rank = 0; rank < scratch_.size(); ++rank) team.scratch[rank] = scratch_[rank].data();
    set_sockets(std::vector<int>(static_cast<std::size_t>(size), 0));
  }

  CopyEngines& engines(int rank) {
    auto& made = engines_[static_cast<std::size_t>(rank)];
    if (made == nullptr) made = *CopyEngines::create(executor(rank), 0, team(rank));
    return *made;
  }

  /// Which socket each rank is on.
  void set_sockets(const std::vector<int>& sockets) {
    for (Team& team : teams_)
      for (std::size_t rank = 0; rank < sockets.size(); ++rank) {
        std::size_t leader = 0;
        while (sockets[leader] != sockets[rank]) ++leader;
        team.leader[rank] = static_cast<std::int8_t>(leader);
      }
  }

  /// So many blocks have all the slots of collectives.
  void set_blocks(unsigned blocks) {
    for (Team& team : teams_) team.shape.blocks = blocks;
  }

  int size() const { return static_cast<int>(teams_.size()); }
  Team& team(int rank) { return teams_[static_cast<std::size_t>(rank)]; }
  device::Lane& lane(int rank) { return *lanes_[static_cast<std::size_t>(rank)]; }
  device::Executor& executor(int rank) { return *executors_[static_cast<std::size_t>(rank)]; }
  std::vector<BlockCounts>& counts(int rank) { return *counts_[static_cast<std::size_t>(rank)]; }

 private:
  std::vector<std::shared_ptr<device::Executor>> executors_;
  std::vector<device::Memory> scratch_;
  std::vector<std::unique_ptr<std::vector<BlockCounts>>> counts_;
  std::vector<Team> teams_;
  std::vector<std::unique_ptr<CopyEngines>> engines_{kMostRanks};
  std::vector<std::unique_ptr<device::Lane>> lanes_;  // last: they end before what they work on
};

}  // namespace sennit::coll
