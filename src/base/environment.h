// Lists every environment variable that sennit reads, each with its documentation.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace sennit {

/// One variable: its name, the default as people would write it, and what it does in one sentence.
struct Variable {
  std::string_view name;
  std::string_view fallback;
  std::string_view meaning;
};

/// Returns all variables, in the order the documentation lists them.
std::span<const Variable> variables();

/// Returns the variable's value, or its default from the list. Asking for a variable that is not in the list aborts:
/// it would be an undocumented one.
std::string environment(std::string_view name);

/// Returns environment(name) as a number. Errors: invalid_argument, naming the variable and what it accepts.
Result<long long> environment_integer(std::string_view name);
/// Accepts 1/0, true/false, yes/no, on/off.
Result<bool> environment_switch(std::string_view name);

}  // namespace sennit
