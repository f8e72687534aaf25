// Lanes of sennit's own that work beside a program's: one that has joined a capture belongs to that until it ends.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "device/lane.h"

namespace sennit::device {

/// Of what has a `lane` of its own each, one that may work in `capture` (0: in none): which has joined it or, where
/// there is none, is in no capture. Null: all belong to others.
template <class Owner>
Owner* joined_or_free(const std::vector<std::unique_ptr<Owner>>& owners, std::uint64_t capture) {
  for (const std::uint64_t joined : {capture, std::uint64_t{0}})
    for (const auto& owner : owners)
      if (owner->lane->capture() == joined) return owner.get();
  return nullptr;
}

}  // namespace sennit::device
