// What MPI's predefined types and operators are to sennit.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "device/type.h"

namespace sennit::shim::mpi {

/// Which operators MPI defines for a predefined type (5.0, 6.9.2).
enum class Rule : std::uint8_t { as_numbers, as_bits, as_truths, as_sums, none };

/// A predefined type as sennit has it.
struct Meaning {
  device::Type type;
  unsigned count = 1;  ///< numbers in one: complex ones have two
  Rule rule = Rule::as_numbers;
};

/// The meaning called so in handles.txt.
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

/// How `op` is done on elements of such a type; none where MPI does not define it, or sennit has no such reduction:
/// products of complex numbers.
std::optional<Numbers> numbers_of(Meaning meaning, device::Operator op);

}  // namespace sennit::shim::mpi
