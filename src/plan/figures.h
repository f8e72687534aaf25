// Derives the cost model's figures for a machine from what its document says of the links between the ranks' devices.
#pragma once

#include "coll/cost.h"
#include "machine/machine.h"
#include "plan/table.h"

namespace sennit::plan {

/// Returns the GB/s of the fastest single way between two devices; 0 where the machine knows none.
double best_gbps(const machine::Machine& machine, const std::string& from, const std::string& to);

/// Returns the defaults, with the rates of links scaled by the slowest pair's best way. Pure: all ranks have the same
/// document.
coll::Figures figures_of(const machine::Machine& machine, const Layout& layout);

/// Returns the GB/s that the links of a rank carry each way while all ranks exchange at the same time, as copies were
/// measured: the busbw that no collective passes. Of the slowest rank; 0 where the machine's measurements do not say.
double exchange_gbps(const machine::Machine& machine, const Layout& layout);

/// Returns whether ranks on `other` are joined by the same links as those on `layout`, pair by pair, to within 5 %,
/// and share sockets alike: what was measured on one then holds on the other.
bool alike(const machine::Machine& machine, const Layout& layout, const Layout& other);

}  // namespace sennit::plan
