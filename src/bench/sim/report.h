// Holds what the answers of sennit-sim have in common: costs by their names, and what holds a job up.
#pragma once

#include <cmath>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/json.h"
#include "base/status.h"
#include "machine/machine.h"
#include "sim/outcome.h"

namespace sennit::bench {

/// Rates, efficiencies and numbers of blocks are divided by; times may be 0.
inline bool makes_sense(std::string_view name, double value) {
  if (!std::isfinite(value) || value < 0) return false;
  if (name.ends_with("_efficiency")) return value > 0 && value <= 1;
  return value > 0 || name.ends_with("_us");
}

/// Sets costs from texts such as "launch_us=2", by a table of names and members. Errors: invalid_argument, listing
/// the names.
template <class Costs, class Named, std::size_t size>
Status set_costs(Costs& costs, const Named (&table)[size], const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    const auto equals = text.find('=');
    const std::string name = text.substr(0, equals),
                      number = equals == std::string::npos ? "" : text.substr(equals + 1);
    const Named* named = nullptr;
    std::string known;
    for (const Named& each : table) {
      if (each.name == name) named = &each;
      known += (known.empty() ? "" : ", ") + std::string(each.name);
    }
    char* end = nullptr;
    const double value = std::strtod(number.c_str(), &end);
    if (named == nullptr || number.empty() || *end != 0 || !makes_sense(name, value))
      return Status(Code::invalid_argument, fmt::format("'{}' gives no cost a value that makes sense", text),
                    "--costs", "Write NAME=VALUE, with a positive VALUE and NAME one of " + known);
    costs.*named->cost = value;
  }
  return {};
}

/// The machine that is asked about, and what it is without --what-if, where that was given.
struct Machines {
  machine::Machine now;
  std::optional<machine::Machine> before;
};

/// `name`: of --machine. Errors: those of the command line.
Result<Machines> machines_of(const std::string& name, const std::vector<std::string>& what_if);

/// Returns the document with "critical" and "loads".
Json with_outcome(const sim::Outcome& outcome, Json document);

}  // namespace sennit::bench
