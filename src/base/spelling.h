// Compares names that people write with or without separators: reduce_scatter, reduce-scatter, reducescatter.
#pragma once

#include <string_view>

namespace sennit {

/// Returns true for two names that differ in '-' and '_' alone.
constexpr bool same_but_for_separators(std::string_view a, std::string_view b) {
  const auto skip = [](std::string_view& text) {
    while (!text.empty() && (text.front() == '-' || text.front() == '_')) text.remove_prefix(1);
  };
  for (skip(a), skip(b); !a.empty() && !b.empty(); skip(a), skip(b)) {
    if (a.front() != b.front()) return false;
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return a.empty() && b.empty();
}

}  // namespace sennit
