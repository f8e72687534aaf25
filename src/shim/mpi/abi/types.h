// Gives MPI's predefined types and operators their meaning for sennit.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "device/type.h"

namespace sennit::shim::mpi {

/// A predefined type as sennit has it.
struct Meaning {
  device::Type type;
  unsigned count = 1;   ///< numbers in one: complex ones have two
  bool truths = false;  ///< 0 and 1 are its only values
};

/// Returns the meaning that has this name in handles.txt.
std::optional<Meaning> parse_meaning(std::string_view text);
unsigned bytes_of(Meaning meaning);

/// `count` of one predefined type, side by side.
struct Uniform {
  Meaning meaning;
  std::int64_t count = 1;
  bool derived = false;  ///< it is a type of its own, though it has but one
};

/// The numbers that an operator works on.
struct Numbers {
  device::Type type;
  unsigned per_element = 1;  ///< of the predefined type
};

/// Reduces elements as an MPI does: `inout` = `in` op `inout`, so many of them; returns its error code.
using ReduceLocal = std::function<int(const void* in, void* inout, int count)>;

/// Returns the numbers on which sennit does `op` for elements of such a type so that it gives what `mpis` gives. No
/// value where the MPI refuses, or sennit has no such reduction: products of complex numbers. It is tried out on a
/// few elements, since MPIs take more pairs than the standard defines, and differ: what is signed, what a truth is.
std::optional<Numbers> numbers_like(const ReduceLocal& mpis, Meaning meaning, device::Operator op);

}  // namespace sennit::shim::mpi
