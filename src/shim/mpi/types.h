// What MPI's predefined types and operators are to sennit.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "device/type.h"

namespace sennit::shim::mpi {

/// Classes of predefined types. To some operators bytes, booleans and complex numbers are numbers, to others not.
enum class Meaning : std::uint8_t {
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float32,
  float64,
  bytes,
  boolean,
  characters,
  complex64,
  complex128,
};

/// The meaning called so in handles.txt.
std::optional<Meaning> parse_meaning(std::string_view text);
unsigned bytes_of(Meaning meaning);

/// `count` of one predefined type, side by side.
struct Uniform {
  Meaning meaning;
  std::int64_t count = 1;
};

/// The numbers that an operator works on.
struct Numbers {
  device::Type type;
  unsigned per_element = 1;  ///< of the predefined type
};

/// How `op` is done on elements of such a type; none where MPI does not define it (5.0, 6.9.2), or sennit has no such
/// reduction: products of complex numbers.
std::optional<Numbers> numbers_of(Meaning meaning, device::Operator op);

}  // namespace sennit::shim::mpi
