#include "sim/papers/study.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

namespace sennit::sim {

namespace {

struct Named {
  std::string_view name;
  Result<Study> (*study)(machine::Machine machine);
};
constexpr std::array<Named, 5> kStudies = {{{"mist", study_mist},
                                            {"cedar", study_cedar},
                                            {"helios", study_helios},
                                            {"ri2", study_ri2},
                                            {"cscs", study_cscs}}};

}  // namespace

bool Number::within() const {
  return counts ? std::abs(ours - paper) <= band : std::abs(ours - paper) <= band * std::abs(paper);
}

std::vector<std::string_view> studies() {
  std::vector<std::string_view> names;
  for (const Named& each : kStudies) names.push_back(each.name);
  return names;
}

Result<Study> study(std::string_view name, const machine::Machine& machine) {
  std::string known;
  for (const Named& each : kStudies) {
    if (each.name == name) return each.study(machine);
    known += (known.empty() ? "" : ", ") + std::string(each.name);
  }
  return Status(Code::not_found, fmt::format("no paper's experiments on '{}' are known", name), {},
                "Name one of " + known);
}

}  // namespace sennit::sim
