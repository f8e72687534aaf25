#include "doctor/check.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace sennit::doctor {

namespace {

Check make(const Subject& subject, State state, std::string detail, std::string fix) {
  return {std::string(subject.id), std::string(subject.title), state,
          subject.needed,          std::move(detail),          std::move(fix)};
}

}  // namespace

std::string_view name(State state) {
  switch (state) {
    case State::works: return "works";
    case State::degraded: return "degraded";
    case State::missing: return "missing";
    case State::not_applicable: return "not_applicable";
  }
  return "missing";
}

Check works(const Subject& subject, std::string detail) {
  return make(subject, State::works, std::move(detail), {});
}

Check degraded(const Subject& subject, std::string detail, std::string fix) {
  return make(subject, State::degraded, std::move(detail), std::move(fix));
}

Check missing(const Subject& subject, std::string detail, std::string fix) {
  return make(subject, State::missing, std::move(detail), std::move(fix));
}

Check not_applicable(const Subject& subject, std::string detail) {
  return make({subject.id, subject.title, false}, State::not_applicable, std::move(detail), {});
}

bool lacking(const std::vector<Check>& checks) {
  return std::any_of(checks.begin(), checks.end(),
                     [](const Check& check) { return check.needed && check.state == State::missing; });
}

Json document(const std::vector<Check>& checks, const std::string& date, const std::string& host) {
  Json listed = Json::array();
  for (const Check& check : checks)
    listed.push_back({{"id", check.id},
                      {"title", check.title},
                      {"state", name(check.state)},
                      {"needed", check.needed},
                      {"detail", check.detail},
                      {"fix", check.fix}});
  return {{"version", 1}, {"date", date}, {"host", host}, {"checks", listed}};
}

std::string counted(long count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

}  // namespace sennit::doctor
