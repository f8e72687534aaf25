#include "sim/put.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "path/split.h"
#include "sim/costs.h"

namespace sennit::sim {

namespace {

using Id = Graph::Id;

/// More chunks than this are taken together: a pipeline of so many is full all the time. A limit.
constexpr double kMostChunks = 64;

/// One direction of a put.
class Way {
 public:
  Way(Graph& graph, const Fabric& fabric, const Put& put) : graph_(graph), fabric_(fabric), put_(put) {}

  /// The routes of the split, as planning sees them. Errors: as simulate_put().
  Status find(const machine::Machine& machine, const std::string& from, const std::string& to);
  void add_message();

 private:
  struct Leg {
    path::Candidate candidate;
    double bytes = 0, chunk = 0;
    std::vector<std::uint32_t> hops;  // queues
  };
  void add(Leg& leg, double start_us);

  Graph& graph_;
  const Fabric& fabric_;
  const Put& put_;
  std::vector<Leg> legs_;
  std::uint32_t host_ = graph_.add_queue();
  bool first_ = true;
};

Status Way::find(const machine::Machine& machine, const std::string& from, const std::string& to) {
  for (const auto& share : put_.split) {
    const std::string& name = share.first;
    const double bytes = share.second * put_.bytes;
    // What it costs depends on what it carries.
    const auto found = path::candidates(machine, from, to, static_cast<std::uint64_t>(bytes));
    if (!found) return found.status();
    const auto same =
        std::ranges::find_if(*found, [&](const path::Candidate& each) { return each.route.name() == name; });
    if (same == found->end()) {
      std::string known;
      for (const path::Candidate& each : *found) known += (known.empty() ? "" : ", ") + each.route.name();
      return Status(Code::not_found, fmt::format("no route '{}' leads from {} to {}", name, from, to), {},
                    "Name one of " + known);
    }
    Leg leg{*same, bytes, bytes, {}};
    if (!same->route.direct() && same->chunk_bytes > 0) {
      const double together = static_cast<double>(same->chunk_bytes) * std::max(1, same->blocks);
      leg.chunk = bytes / std::clamp(std::round(bytes / together), 1.0, kMostChunks);
    }
    for (std::size_t hop = 1; hop < same->route.stops.size(); ++hop) leg.hops.push_back(graph_.add_queue());
    legs_.push_back(std::move(leg));
  }
  return {};
}

void Way::add_message() {
  double start = 0;
  for (Leg& leg : legs_) {
    // What filling the pipeline takes is in the startup, and comes about here by itself.
    const double fill = static_cast<double>(leg.hops.size() - 1) * leg.chunk / (leg.candidate.rate_gbps * kPerGbps);
    add(leg, std::max(0.0, leg.candidate.startup_us - fill - put_.costs.issue_us - put_.costs.clock_us) + start);
    start += put_.costs.route_us;
  }
  first_ = false;
}

void Way::add(Leg& leg, double start_us) {
  const std::uint32_t starts = graph_.name("launches"), calls = graph_.name("calls");
  Graph::Task call;
  call.us = first_ ? 0 : put_.costs.issue_us;
  call.queue = host_;
  call.what = calls;
  Graph::Task start;
  start.us = start_us;
  start.what = starts;
  const Id started = graph_.add(start, {graph_.add(call)});
  const auto& stops = leg.candidate.route.stops;
  const int chunks = static_cast<int>(std::round(leg.bytes / leg.chunk));
  for (int chunk = 0; chunk < chunks; ++chunk) {
    Id before = started;
    for (std::size_t hop = 0; hop < leg.hops.size(); ++hop) {
      Graph::Task copy;
      copy.from = fabric_.network().index(stops[hop]);
      copy.to = fabric_.network().index(stops[hop + 1]);
      copy.bytes = leg.chunk;
      copy.us = chunk == 0 && hop == 0 ? put_.costs.issue_us : 0;
      copy.gbps = leg.candidate.rate_gbps;
      copy.queue = leg.hops[hop];
      copy.method = leg.candidate.route.method;
      copy.what = calls;
      before = graph_.add(copy, {before});
    }
  }
}

}  // namespace

Result<Played> simulate_put(const machine::Machine& machine, const Put& put) {
  double whole = 0;
  bool positive = put.bytes > 0 && put.window > 0;
  for (const auto& share : put.split) {
    whole += share.second;
    positive = positive && share.second > 0;
  }
  constexpr double kRounding = 1e-3;  // of shares as documents have them
  if (!positive || std::abs(whole - 1) > kRounding)
    return Status(Code::invalid_argument, "a put needs bytes, a window, and parts above 0 that make 1 together", {},
                  "Leave out routes that carry nothing");
  const auto fabric = Fabric::create(machine, 1, Costs{}.memory_gbps);
  if (!fabric) return fabric.status();
  Graph graph;
  Way there(graph, *fabric, put), back(graph, *fabric, put);
  if (auto status = there.find(machine, put.from, put.to); !status) return status;
  if (put.both_ways)
    if (auto status = back.find(machine, put.to, put.from); !status) return status;
  for (int message = 0; message < put.window; ++message) {
    there.add_message();
    if (put.both_ways) back.add_message();
  }
  return play(graph, *fabric);
}

}  // namespace sennit::sim
