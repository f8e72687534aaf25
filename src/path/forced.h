// Finds the routes of shares that people ask for by name, in place of the computed ones. Internal to path/.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "path/routes.h"

namespace sennit::path {

/// Returns the number of the route each name means, with its share. A name is a route's whole name ("host0 (sm)"), or
/// what stands before the method ("host0"), or "host" for the staged routes; where it fits several routes, the one
/// that is fastest alone. Errors: not_found names the routes there are; invalid_argument for shares that are
/// negative, do not sum to 1 (to within one in a thousand) or name a route twice.
Result<std::vector<std::pair<int, double>>> resolve_forced(const std::vector<std::pair<std::string, double>>& forced,
                                                           const Routes& routes);

}  // namespace sennit::path
