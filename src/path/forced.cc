#include "path/forced.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace sennit::path {

namespace {

constexpr const char* kForm = "Write NAME=SHARE with commas between, such as direct=0.9,host=0.1";

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Returns how well `asked` names a route: 0 is best, 3 is not at all.
int distance(const std::string& asked, const Routes& routes, const Route& route) {
  const std::string name = route.name();
  if (asked == name) return 0;
  if (asked == name.substr(0, name.rfind(" ("))) return 1;
  const bool staged =
      route.stops.size() == 3 && routes.network.is(routes.network.index(route.stops[1]), machine::DeviceKind::host);
  return staged && asked == "host" ? 2 : 3;
}

}  // namespace

Result<std::vector<std::pair<int, double>>> resolve_forced(const std::vector<std::pair<std::string, double>>& forced,
                                                           const Routes& routes) {
  std::vector<std::pair<int, double>> resolved;
  double sum = 0;
  for (const auto& [asked, share] : forced) {
    int best = -1, best_distance = 3;
    std::string known;
    for (std::size_t r = 0; r < routes.routes.size(); ++r) {
      const Route& route = routes.routes[r].candidate.route;
      known += (known.empty() ? "'" : ", '") + route.name() + "'";
      const int d = distance(asked, routes, route);
      if (d < best_distance) best = int(r), best_distance = d;
    }
    if (best < 0)
      return Status(Code::not_found, fmt::format("no route is called '{}'", asked), "forced split",
                    "The routes are " + known);
    if (!(share >= 0 && share <= 1))
      return Status(Code::invalid_argument, fmt::format("the share of '{}' is {}", asked, share), "forced split",
                    "Shares lie between 0 and 1");
    for (const auto& [other, _] : resolved)
      if (other == best)
        return Status(
            Code::invalid_argument,
            fmt::format("'{}' names the route '{}' again", asked, routes.routes[best].candidate.route.name()),
            "forced split", "Name each route once");
    resolved.emplace_back(best, share);
    sum += share;
  }
  if (std::abs(sum - 1) > 1e-3)
    return Status(Code::invalid_argument, fmt::format("shares sum to {:g}", sum), "forced split",
                  "Make them sum to 1, such as direct=0.9,host=0.1");
  for (auto& [r, share] : resolved) share /= sum;
  return resolved;
}

Result<std::vector<std::pair<std::string, double>>> parse_forced(std::string_view text) {
  std::vector<std::pair<std::string, double>> forced;
  for (std::string_view rest = trimmed(text); !rest.empty();) {
    const auto comma = rest.find(',');
    const std::string_view part = trimmed(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? std::string_view{} : trimmed(rest.substr(comma + 1));
    const auto equals = part.rfind('=');
    const std::string_view name = equals == std::string_view::npos ? part : trimmed(part.substr(0, equals));
    const std::string_view number = equals == std::string_view::npos ? "" : trimmed(part.substr(equals + 1));
    double share = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), share);
    if (name.empty() || number.empty() || error != std::errc{} || end != number.data() + number.size() ||
        !(share >= 0 && share <= 1))
      return Status(Code::invalid_argument, fmt::format("'{}' is not a route with its share", part), "forced split",
                    kForm);
    forced.emplace_back(name, share);
  }
  return forced;
}

}  // namespace sennit::path
