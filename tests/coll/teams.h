// Teams without memory: what decisions are made from.
#pragma once

#include "coll/team.h"

namespace sennit::coll {

/// With the default scratch of 64 MiB.
inline Team team_of(int ranks) {
  Team team;
  team.size = ranks;
  team.shape = Shape::of(std::uint64_t{64} << 20, ranks);
  return team;
}

}  // namespace sennit::coll
