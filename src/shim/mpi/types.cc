#include "shim/mpi/types.h"

#include <array>
#include <utility>

namespace sennit::shim::mpi {

namespace {

using device::Operator;
using device::Type;

struct Row {
  std::string_view name;
  Type type;       // of its numbers
  unsigned count;  // numbers in one
};
/// By Meaning.
constexpr std::array kRows{
    Row{"int8", Type::int8, 1},        Row{"uint8", Type::uint8, 1},       Row{"int16", Type::int16, 1},
    Row{"uint16", Type::uint16, 1},    Row{"int32", Type::int32, 1},       Row{"uint32", Type::uint32, 1},
    Row{"int64", Type::int64, 1},      Row{"uint64", Type::uint64, 1},     Row{"float32", Type::float32, 1},
    Row{"float64", Type::float64, 1},  Row{"bytes", Type::uint8, 1},       Row{"boolean", Type::uint8, 1},
    Row{"characters", Type::uint8, 1}, Row{"complex64", Type::float32, 2}, Row{"complex128", Type::float64, 2},
};
static_assert(kRows.size() == std::size_t(Meaning::complex128) + 1);

constexpr bool is_bitwise(Operator op) {
  return op == Operator::bit_and || op == Operator::bit_or || op == Operator::bit_xor;
}
constexpr bool is_logical(Operator op) {
  return op == Operator::logical_and || op == Operator::logical_or || op == Operator::logical_xor;
}

}  // namespace

std::optional<Meaning> parse_meaning(std::string_view text) {
  for (std::size_t i = 0; i < kRows.size(); ++i)
    if (kRows[i].name == text) return Meaning(i);
  return std::nullopt;
}

unsigned bytes_of(Meaning meaning) {
  const Row& row = kRows[std::size_t(meaning)];
  return row.count * device::bytes_of(row.type);
}

std::optional<Numbers> numbers_of(Meaning meaning, Operator op) {
  const Row& row = kRows[std::size_t(meaning)];
  switch (meaning) {
    case Meaning::characters: return std::nullopt;
    case Meaning::bytes:
      if (!is_bitwise(op)) return std::nullopt;
      break;
    case Meaning::boolean:
      if (!is_logical(op)) return std::nullopt;
      break;
    case Meaning::complex64:
    case Meaning::complex128:
      if (op != Operator::sum) return std::nullopt;
      break;
    default:
      if (!device::supports(row.type, op)) return std::nullopt;
  }
  return Numbers{row.type, row.count};
}

}  // namespace sennit::shim::mpi
