#include "bench/mpi/numbers.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "shim/mpi/abi/table.h"

namespace sennit::bench::mpi {

namespace {

using shim::mpi::kPredefined;
using shim::mpi::Predefined;

/// Finds a type by MPI's own name, in any case and without "MPI_" too.
const Predefined* type_named(std::string name) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (!name.starts_with("MPI_")) name.insert(0, "MPI_");
  const auto found = std::ranges::find_if(
      kPredefined, [&](const Predefined& one) { return one.kind == "type" && one.name == name; });
  return found != std::ranges::end(kPredefined) ? &*found : nullptr;
}

}  // namespace

const Predefined* predefined(std::string_view kind, std::string_view meaning) {
  const auto found = std::ranges::find_if(
      kPredefined, [&](const Predefined& one) { return one.kind == kind && one.meaning == meaning; });
  return found != std::ranges::end(kPredefined) ? &*found : nullptr;
}

Result<Numbers> parse_numbers(const std::string& type, const std::string& op) {
  Numbers numbers;
  numbers.type = type;
  numbers.handle = type_named(type);
  // MPIs that reduce characters take them for integers.
  const std::string_view meaning = numbers.handle == nullptr                 ? std::string_view(type)
                                   : numbers.handle->meaning == "characters" ? "int8"
                                                                             : numbers.handle->meaning;
  auto of_type = device::parse_type(meaning);
  if (!of_type && numbers.handle == nullptr) return std::move(of_type).status().in("--type");
  if (of_type && numbers.handle == nullptr) numbers.handle = predefined("type", meaning);
  if (!of_type || numbers.handle == nullptr)
    return Status(Code::invalid_argument, fmt::format("MPI has no numbers of type {}", type), "--type",
                  "Use float32, float64, an integer such as int32, or MPI's names such as char, int and float");
  auto of_op = device::parse_operator(op);
  if (!of_op) return std::move(of_op).status().in("--op");
  numbers.op = predefined("op", device::name(*of_op));
  if (numbers.op == nullptr || !device::supports(*of_type, *of_op))
    return Status(Code::invalid_argument, fmt::format("MPI has no {} of {}", op, type), "--op",
                  "Use sum, product, min or max; of integers bit_and, bit_or, logical_and and the like");
  numbers.reduction = {*of_type, *of_op};
  return numbers;
}

}  // namespace sennit::bench::mpi
