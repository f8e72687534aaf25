#include "shim/mpi/types.h"

#include <array>

namespace sennit::shim::mpi {

namespace {

using device::Operator;
using device::Type;

struct Named {
  std::string_view name;
  Meaning meaning;
};
/// Those that are more, or less, than numbers of one of sennit's types.
constexpr std::array kOthers{
    Named{"bytes", {Type::uint8, 1, Rule::as_bits}},        Named{"boolean", {Type::uint8, 1, Rule::as_truths}},
    Named{"characters", {Type::uint8, 1, Rule::none}},      Named{"complex64", {Type::float32, 2, Rule::as_sums}},
    Named{"complex128", {Type::float64, 2, Rule::as_sums}},
};

constexpr bool is_bitwise(Operator op) {
  return op == Operator::bit_and || op == Operator::bit_or || op == Operator::bit_xor;
}
constexpr bool is_logical(Operator op) {
  return op == Operator::logical_and || op == Operator::logical_or || op == Operator::logical_xor;
}

}  // namespace

std::optional<Meaning> parse_meaning(std::string_view text) {
  for (const Named& other : kOthers)
    if (other.name == text) return other.meaning;
  const auto type = device::parse_type(text);
  return type ? std::optional(Meaning{*type}) : std::nullopt;
}

unsigned bytes_of(Meaning meaning) {
  return meaning.count * device::bytes_of(meaning.type);
}

std::optional<Numbers> numbers_of(Meaning meaning, Operator op) {
  const bool defined = [&] {
    switch (meaning.rule) {
      case Rule::as_numbers: return device::supports(meaning.type, op);
      case Rule::as_bits: return is_bitwise(op);
      case Rule::as_truths: return is_logical(op);
      case Rule::as_sums: return op == Operator::sum;
      case Rule::none: break;
    }
    return false;
  }();
  return defined ? std::optional(Numbers{meaning.type, meaning.count}) : std::nullopt;
}

}  // namespace sennit::shim::mpi
