// Makes what ranks give each other when an operation is checked, and the results that it should give. Pure.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "bench/mpi/layout.h"
#include "device/reduction.h"

namespace sennit::bench::mpi {

/// Returns the first bytes of message `index` that this rank gives; the rest repeats them. Small numbers where they
/// are to be reduced, exact in every sum, else any bytes.
std::vector<std::byte> given(const Layout& layout, const device::Reduction& reduction, unsigned index);

/// Returns the bytes in the target's memory before a call that updates it: those that the target would give. For a
/// compare-and-swap they are the value that the caller gives second.
std::vector<std::byte> before(const Layout& layout, const device::Reduction& reduction);

/// Returns the first bytes of message `index` that should come, likewise; of any number of ranks.
std::vector<std::byte> expected(const Layout& layout, const device::Reduction& reduction, unsigned index);

/// Returns where `got` first differs from `right`, which is repeated again and again.
std::optional<std::uint64_t> first_wrong(std::span<const std::byte> got, std::span<const std::byte> right);

}  // namespace sennit::bench::mpi
