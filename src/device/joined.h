// Chooses among sennit's own lanes that work beside a program's: one that has joined a capture belongs to the capture
// until that ends.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "device/lane.h"

namespace sennit::device {

/// Returns one of the owners, each with a `lane` of its own, that may work in `capture` (0: in no capture): one that
/// has joined the capture, else one that is in no capture. Null: all belong to other captures.
template <class Owner>
Owner* joined_or_free(const std::vector<std::unique_ptr<Owner>>& owners, std::uint64_t capture) {
  for (const std::uint64_t joined : {capture, std::uint64_t{0}})
    for (const auto& owner : owners)
      if (owner->lane->capture() == joined) return owner.get();
  return nullptr;
}

}  // namespace sennit::device
