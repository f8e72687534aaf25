// Splits one message:
// 1. start with the route that is fastest alone;
// 2. for every other route, compute the message's time with it: fair rates over the shared resources, then the shares
//    that finish together, then each share's own overhead, again until they agree;
// 3. take the route that shortens the message most, if by more than the margin; repeat;
// 4. round the shares, compute what they then take, and give each route left out its reason.
#include "path/split.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/units.h"
#include "path/equal_finish.h"
#include "path/forced.h"
#include "path/routes.h"

namespace sennit::path {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Some routes carrying one message together.
struct RouteSet {
  std::vector<int> routes;
  std::vector<double> gbps, bytes;
  double us = kNever;  ///< infinite where a share came out smaller than its route can carry
  int starved = -1;    ///< that route
};

// The routes after a team's first are launched after it.
double company_us(std::size_t position) {
  return position > 0 ? kCompanyUs : 0;
}

// Routes that would only compete with each other: both staged through host memory, whichever method and host (a GPU's
// way to the host is the same), or of the same stops.
bool exclusive(const Network& network, const Route& a, const Route& b) {
  const auto staged = [&](const Route& route) {
    return route.stops.size() == 3 && network.is(network.index(route.stops[1]), machine::DeviceKind::host);
  };
  return a.stops == b.stops || (staged(a) && staged(b));
}

class Planner {
 public:
  Planner(const Routes& routes, std::uint64_t bytes, const SplitOptions& options)
      : routes_(routes), bytes_(bytes), options_(options), reasons_(routes.routes.size()) {}

  Split run();
  Split run_forced(const std::vector<std::pair<int, double>>& forced);

 private:
  const PlannedRoute& route(int r) const { return routes_.routes[r]; }
  std::vector<double> rates(const std::vector<int>& team) const;
  RouteSet together(std::vector<int> team) const;
  RouteSet grow(const RouteSet& team);
  std::string reason(int r, const RouteSet& team, const RouteSet& with) const;
  std::string full_resource(int r, const RouteSet& with) const;
  Split finish(const RouteSet& team) const;

  const Routes& routes_;
  const std::uint64_t bytes_;
  const SplitOptions& options_;
  std::vector<std::string> reasons_;
};

std::vector<double> Planner::rates(const std::vector<int>& team) const {
  std::vector<const Flow*> flows;
  flows.reserve(team.size());
  for (const int r : team) flows.push_back(&route(r).flow);
  return routes_.network.rates(flows);
}

RouteSet Planner::together(std::vector<int> members) const {
  RouteSet team{std::move(members), {}, {}, kNever, -1};
  team.gbps = rates(team.routes);
  double total = 0;
  for (const double gbps : team.gbps) total += gbps;
  for (const double gbps : team.gbps) team.bytes.push_back(double(bytes_) * gbps / total);

  // Overheads depend on the shares, and little: a few rounds bring the finish times together to far below a µs.
  std::vector<RateLine> lines(team.routes.size());
  for (int round = 0; round < 5; ++round) {
    for (std::size_t i = 0; i < lines.size(); ++i)
      lines[i] = {overhead(route(team.routes[i]).timing, team.bytes[i]).us + company_us(i), team.gbps[i]};
    team.bytes = equal_finish(lines, double(bytes_)).bytes;
  }
  double us = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const PlannedRoute& planned = route(team.routes[i]);
    const double least =
        planned.timing.chunked ? double(overhead(planned.timing, team.bytes[i]).chunk_bytes) : double(kAlignment);
    if (team.bytes[i] < least && team.routes.size() > 1) {
      team.starved = team.routes[i];
      return team;
    }
    us = std::max(us, finish_us(planned.timing, team.bytes[i], team.gbps[i]) + company_us(i));
  }
  team.us = us;
  return team;
}

// The resource that is full and that `r` shares with another of the team; empty where there is none.
std::string Planner::full_resource(int r, const RouteSet& with) const {
  for (const Usage& mine : route(r).flow.uses) {
    double used = 0;
    bool shared = false;
    for (std::size_t i = 0; i < with.routes.size(); ++i)
      for (const Usage& use : route(with.routes[i]).flow.uses)
        if (use.resource == mine.resource) used += use.weight * with.gbps[i], shared |= with.routes[i] != r;
    if (shared && used >= routes_.network.capacity()[mine.resource] * (1 - 1e-6))
      return fmt::format("{} ({})", routes_.network.resource_name(mine.resource),
                         routes_.network.resource_capacity(mine.resource));
  }
  return {};
}

std::string Planner::reason(int r, const RouteSet& team, const RouteSet& with) const {
  const PlannedRoute& planned = route(r);
  for (const int member : team.routes)
    if (exclusive(routes_.network, route(member).candidate.route, planned.candidate.route))
      return fmt::format("takes the same links as {}, which would finish in {:.0f} µs alone against {:.0f} µs",
                         route(member).candidate.route.name(), route(member).alone_us(double(bytes_)),
                         planned.alone_us(double(bytes_)));
  const double first = overhead(planned.timing, double(kAlignment)).us + kCompanyUs;
  if (first >= team.us)
    return fmt::format(
        "starts too late: its first bytes would take {:.0f} µs, and without it the message is over after "
        "{:.0f} µs",
        first, team.us);
  const std::string alone = fmt::format("would finish in {:.0f} µs alone; ", planned.alone_us(double(bytes_)));
  const std::string full = full_resource(r, with);
  if (!full.empty() && with.us > team.us * (1 - options_.margin))
    return alone + fmt::format("adds nothing: {} is already full", full);
  if (with.starved >= 0)
    return alone + fmt::format("beside the others the share of {} would be less than one chunk",
                               route(with.starved).candidate.route.name());
  if (with.us >= team.us)
    return alone + fmt::format("adds nothing: {:.1f} µs with it, {:.1f} µs without", with.us, team.us);
  return alone + fmt::format("saves {:.2g} % ({:.1f} µs instead of {:.1f} µs), less than the margin of {:.2g} %",
                             (1 - with.us / team.us) * 100, with.us, team.us, options_.margin * 100);
}

// The team with the route that shortens the message most; unchanged when no route does so by more than the margin.
RouteSet Planner::grow(const RouteSet& team) {
  RouteSet best = team;
  for (int r = 0; r < int(routes_.routes.size()); ++r) {
    if (!reasons_[r].empty() || std::ranges::count(team.routes, r) > 0) continue;
    std::vector<int> members = team.routes;
    members.push_back(r);
    const bool excluded = std::ranges::any_of(team.routes, [&](int member) {
      return exclusive(routes_.network, route(member).candidate.route, route(r).candidate.route);
    });
    const bool late = overhead(route(r).timing, double(kAlignment)).us + kCompanyUs >= team.us;
    const RouteSet with = excluded || late ? RouteSet{} : together(std::move(members));
    if (with.us < best.us) best = with;
    // A route that does not pay now will not pay beside more routes: it is settled here, which keeps planning linear.
    if (with.us > team.us * (1 - options_.margin)) reasons_[r] = reason(r, team, with);
  }
  return best.us < team.us * (1 - options_.margin) ? best : team;
}

/// Says why the options rule a route out; empty when they do not.
std::string ruled_out(const Route& route, const SplitOptions& options) {
  if (options.engines_only && route.method == machine::Method::sm) return "only copy engines may carry this message";
  for (std::size_t i = 1; i + 1 < route.stops.size(); ++i)
    if (std::ranges::find(options.absent, route.stops[i]) != options.absent.end())
      return fmt::format("this process cannot use {}", route.stops[i]);
  return {};
}

Split Planner::run() {
  if (bytes_ == 0) {
    for (std::string& text : reasons_) text = "the message is empty";
    return finish({});
  }
  for (std::size_t r = 0; r < reasons_.size(); ++r) reasons_[r] = ruled_out(route(int(r)).candidate.route, options_);
  const auto best = std::ranges::find(reasons_, std::string());
  if (best == reasons_.end()) return finish({});
  const int first = int(best - reasons_.begin());
  RouteSet team = together({first});
  while (true) {
    RouteSet grown = grow(team);
    if (grown.routes.size() == team.routes.size()) break;
    team = std::move(grown);
  }
  Split split = finish(team);
  if (split.predicted_us > split.single_us) split = finish(together({first}));
  return split;
}

Split Planner::run_forced(const std::vector<std::pair<int, double>>& forced) {
  RouteSet team;
  for (const auto& [r, share] : forced) {
    if (share <= 0) continue;
    team.routes.push_back(r);
    team.bytes.push_back(share * double(bytes_));
  }
  team.gbps = rates(team.routes);
  for (std::string& text : reasons_) text = "left out: other shares were asked for or measured fastest";
  return finish(team);
}

Split Planner::finish(const RouteSet& team) const {
  Split split;
  split.bytes = bytes_;
  // Within one device no link is involved, and the copy itself is the limit.
  split.limit_gbps = route(0).candidate.rate_gbps;
  if (routes_.from != routes_.to)
    split.limit_gbps =
        std::max(split.limit_gbps, limit_gbps(routes_.network, routes_.from, routes_.to, options_.both_ways));
  split.single_us = bytes_ == 0 ? 0 : route(0).alone_us(double(bytes_));

  std::vector<int> order(team.routes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = int(i);
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](int i) { return team.bytes[i]; });
  std::vector<double> exact;
  exact.reserve(order.size());
  for (const int i : order) exact.push_back(team.bytes[i]);
  const std::vector<std::uint64_t> rounded = round_shares(exact, bytes_, kAlignment);

  std::vector<bool> carries(routes_.routes.size(), false);
  std::uint64_t offset = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (rounded[i] == 0) continue;
    const int r = team.routes[order[i]];
    carries[r] = true;
    const Overhead cost = overhead(route(r).timing, double(rounded[i]));
    const double startup_us = cost.us + company_us(std::size_t(order[i]));
    Share share{route(r).candidate, offset, rounded[i], 0};
    share.candidate.startup_us = startup_us;
    share.candidate.chunk_bytes = cost.chunk_bytes;
    share.candidate.rate_gbps = team.gbps[order[i]];
    share.finish_us = startup_us + double(rounded[i]) / (share.candidate.rate_gbps * 1e3);
    split.predicted_us = std::max(split.predicted_us, share.finish_us);
    offset += rounded[i];
    split.shares.push_back(std::move(share));
  }
  for (std::size_t r = 0; r < routes_.routes.size(); ++r)
    if (!carries[r]) split.rejected.push_back({route(int(r)).candidate, reasons_[r]});
  return split;
}

}  // namespace

Result<Split> split(const machine::Machine& machine, const std::string& from, const std::string& to,
                    std::uint64_t bytes, const SplitOptions& options) {
  Result<Routes> routes = enumerate(machine, from, to, bytes, options.both_ways);
  if (!routes) return std::move(routes).status();
  Planner planner(*routes, bytes, options);
  if (options.forced.empty() && options.tuned != nullptr && bytes != 0) {
    if (const auto shares = options.tuned->shares(from, to, options.both_ways, bytes)) {
      // A route that the machine no longer has makes the table stale; the model then decides.
      const auto kept = resolve_forced(*shares, *routes);
      const bool allowed =
          kept.ok() && std::ranges::all_of(*kept, [&](const auto& share) {
            return ruled_out(routes->routes[std::size_t(share.first)].candidate.route, options).empty();
          });
      if (allowed) {
        Split split = planner.run_forced(*kept);
        split.tuned = true;
        return split;
      }
    }
  }
  if (options.forced.empty()) return planner.run();
  const auto forced = resolve_forced(options.forced, *routes);
  if (!forced) return forced.status();
  for (const auto& [r, share] : *forced) {
    const Route& route = routes->routes[std::size_t(r)].candidate.route;
    if (const std::string why = ruled_out(route, options); !why.empty())
      return Status(Code::unsupported, fmt::format("the route '{}' is out of reach: {}", route.name(), why),
                    "forced split", "Choose other routes, or widen CUDA_VISIBLE_DEVICES");
  }
  return planner.run_forced(*forced);
}

Status check_forced(const machine::Machine& machine, const std::vector<std::pair<std::string, double>>& forced) {
  if (forced.empty()) return {};
  std::vector<std::string> memories;  // GPUs first: their names are the ones people mean
  for (const auto kind : {machine::DeviceKind::gpu, machine::DeviceKind::host})
    for (const machine::Device& device : machine.devices)
      if (device.kind == kind) memories.push_back(device.id);
  Status first;
  for (const std::string& from : memories)
    for (const std::string& to : memories) {
      if (from == to) continue;
      const Result<Routes> routes = enumerate(machine, from, to, 64 * MiB, false);
      if (!routes) continue;
      const auto resolved = resolve_forced(forced, *routes);
      if (resolved.ok()) return {};
      if (first.ok()) first = resolved.status();
    }
  return first;
}

}  // namespace sennit::path
