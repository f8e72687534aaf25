// Chooses the core that each rank runs on: times of less than a microsecond mean nothing where ranks move about.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sennit::bench::mpi {

/// Says what a rank may run on, and where it would best.
struct Cores {
  std::string host;          ///< which kernel's they are
  std::vector<int> allowed;  ///< that its launcher left it
  std::vector<int> near;     ///< of its GPU; empty: all are as near
  std::vector<int> core;     ///< of each allowed one: which it shares a core with (the lowest of them)
};

/// Assigns each rank one of its allowed processors, no two ranks of a host the same: near ones first, then those
/// whose core is free. Empty where there are not enough, or where the launcher has bound a rank to some already.
/// Pure.
std::vector<int> assign(const std::vector<Cores>& ranks);
/// Returns whether a launcher has bound the ranks: no two ranks of a host may run on one processor.
bool bound(const std::vector<Cores>& ranks);

/// Returns the cores of this process. `pci`: its GPU's address, or empty.
Cores own_cores(const std::string& pci);
/// Binds this thread, and those that it starts from now on.
Status bind_to(int core);

std::string to_text(const Cores& cores);
Cores cores_from(std::string_view text);

}  // namespace sennit::bench::mpi
