#include "coll/call_key.h"

#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sennit::coll {

namespace {

constexpr std::array<std::string_view, kArithmetics> kArithmeticNames{"none", "fast", "general"};

}  // namespace

std::string_view name(Arithmetic arithmetic) {
  return kArithmeticNames[static_cast<std::size_t>(arithmetic)];
}

Result<Arithmetic> parse_arithmetic(std::string_view text) {
  for (std::size_t i = 0; i < kArithmeticNames.size(); ++i)
    if (kArithmeticNames[i] == text) return static_cast<Arithmetic>(i);
  return Status(Code::invalid_argument, fmt::format("there is no arithmetic \"{}\"", text), {},
                fmt::format("Use one of {}", fmt::join(kArithmeticNames, ", ")));
}

}  // namespace sennit::coll
