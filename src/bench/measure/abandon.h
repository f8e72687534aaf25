// Keeps memory that a copy which never ends still writes to: it must not be freed, and freeing it would wait for the
// copy.
#pragma once

#include <memory>
#include <utility>
#include <vector>

namespace sennit::bench::measure {

/// Keeps `owned` until the process is gone, without ever destroying it.
template <class T>
void abandon(std::unique_ptr<T> owned) {
  static auto& kept = *new std::vector<std::unique_ptr<T>>();
  kept.push_back(std::move(owned));
}

}  // namespace sennit::bench::measure
