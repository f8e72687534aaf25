// What ranks give each other when an operation is checked, and what should come of it. Pure.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "bench/mpi/layout.h"
#include "device/reduction.h"

namespace sennit::bench::mpi {

/// The first bytes of message `index` that this rank gives; the rest repeats them. Small numbers where they are to be
/// reduced, exact in every sum, else any bytes.
std::vector<std::byte> given(const Layout& layout, const device::Reduction& reduction, unsigned index);

/// Returns what is in the target's memory before a call that updates it: as if the target gave it. Of a
/// compare-and-swap the value that the caller gives second.
std::vector<std::byte> before(const Layout& layout, const device::Reduction& reduction);

/// The same of message `index` that should come; of any number of ranks.
std::vector<std::byte> expected(const Layout& layout, const device::Reduction& reduction, unsigned index);

/// Where `got` is not `right`, again and again.
std::optional<std::uint64_t> first_wrong(std::span<const std::byte> got, std::span<const std::byte> right);

}  // namespace sennit::bench::mpi
