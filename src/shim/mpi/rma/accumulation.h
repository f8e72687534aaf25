// Describes what a GPU does of an accumulating one-sided call: elements without gaps become others where they lie.
#pragma once

#include <cstdint>
#include <optional>

#include "device/lane.h"
#include "device/reduction.h"
#include "shim/mpi/abi/mpi.h"

namespace sennit::shim::mpi {

/// Every address is one that lanes of the device which does it reach.
struct Accumulation {
  const std::byte* origin = nullptr;  ///< null: the target stays as it is
  std::byte* target = nullptr;
  std::byte* result = nullptr;  ///< where the target's elements go before that; null: nowhere
  std::uint64_t bytes = 0;
  std::optional<device::Reduction> reduction;  ///< none: the origin's elements replace the target's

  /// Returns the part of it that has `length` of the bytes, from `begin` on.
  Accumulation piece(std::uint64_t begin, std::uint64_t length) const;
  /// Returns whether one of the three memories reaches into another: then the order of its bytes would matter.
  bool overlaps() const;
  /// Returns whether kernels can take the numbers as they lie. `given`: the address of the origin's numbers for them.
  bool aligned(const std::byte* given) const;
  /// Errors: those of the lane.
  Status enqueue(device::Lane& lane) const;
};

/// Returns the reduction that does `op` on elements of a predefined type; no value where sennit has no such
/// reduction.
std::optional<device::Reduction> reduction_of(const Mpi& mpi, Handle element, Handle op);

}  // namespace sennit::shim::mpi
