#include "device/type.h"

#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sennit::device {

namespace {

constexpr std::array<std::string_view, kTypes> kTypeNames{
    "int8",   "uint8",   "int16",    "uint16",  "int32",   "uint32",      "int64",
    "uint64", "float16", "bfloat16", "float32", "float64", "float8_e4m3", "float8_e5m2"};
constexpr std::array<std::string_view, kOperators> kOperatorNames{
    "sum",     "product", "min",     "max",         "average",    "premultiplied_sum",
    "bit_and", "bit_or",  "bit_xor", "logical_and", "logical_or", "logical_xor"};

template <class Enum, std::size_t kCount>
constexpr std::array<Enum, kCount> numbered() {
  std::array<Enum, kCount> all{};
  for (std::size_t i = 0; i < kCount; ++i) all[i] = static_cast<Enum>(i);
  return all;
}
constexpr auto kAllTypes = numbered<Type, kTypes>();
constexpr auto kAllOperators = numbered<Operator, kOperators>();

template <class Enum, std::size_t kCount>
Result<Enum> parse(std::string_view text, const std::array<std::string_view, kCount>& names, std::string_view what) {
  for (std::size_t i = 0; i < kCount; ++i)
    if (names[i] == text) return static_cast<Enum>(i);
  return Status(Code::invalid_argument, fmt::format("there is no {} \"{}\"", what, text), {},
                fmt::format("Use one of {}", fmt::join(names, ", ")));
}

}  // namespace

std::string_view name(Type type) {
  return kTypeNames[static_cast<std::size_t>(type)];
}
std::string_view name(Operator op) {
  return kOperatorNames[static_cast<std::size_t>(op)];
}
std::span<const Type> all_types() {
  return kAllTypes;
}
std::span<const Operator> all_operators() {
  return kAllOperators;
}
Result<Type> parse_type(std::string_view text) {
  return parse<Type>(text, kTypeNames, "type");
}
Result<Operator> parse_operator(std::string_view text) {
  return parse<Operator>(text, kOperatorNames, "operator");
}

}  // namespace sennit::device
