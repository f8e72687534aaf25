#include "plan/explain.h"

#include <algorithm>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "base/units.h"
#include "coll/candidates.h"
#include "coll/choice.h"
#include "coll/cost.h"
#include "plan/figures.h"
#include "plan/lookup.h"

namespace sennit::plan {

namespace {

struct Line {
  coll::Plan plan;
  coll::Cost cost;
  std::optional<Timed> measured;
  std::optional<double> simulated_us;
};

/// Returns the simulated time of the plan, whatever its blocks' threads: the simulator has none.
std::optional<double> simulated_us(const std::vector<Simulated>& simulated, const coll::Plan& plan) {
  const auto same = std::ranges::find_if(simulated, [&](const Simulated& each) {
    return each.plan.algorithm == plan.algorithm && each.plan.blocks == plan.blocks;
  });
  return same != simulated.end() ? std::optional(same->us) : std::nullopt;
}

Json plan_json(const coll::Plan& plan) {
  return {{"algorithm", coll::name(plan.algorithm)}, {"blocks", plan.blocks}, {"threads", plan.threads}};
}

Json line_json(const Line& line, const coll::CallKey& which, int ranks) {
  const coll::Work work = coll::work_of(which, line.plan.algorithm, ranks);
  Json json = plan_json(line.plan);
  json["predicted_us"] = line.cost.total_us();
  json["measured_us"] = line.measured ? Json(line.measured->us) : Json();
  json["spread_us"] = line.measured ? Json(line.measured->spread_us) : Json();
  json["simulated_us"] = line.simulated_us ? Json(*line.simulated_us) : Json();
  json["launch_us"] = line.cost.launch_us;
  json["crossing_us"] = line.cost.crossing_us;
  json["moving_us"] = line.cost.moving_us;
  json["sent_bytes"] = static_cast<std::uint64_t>(work.sent + work.by_engines);
  json["crossings"] = work.crossings;
  return json;
}

std::string describe(const coll::Plan& plan) {
  return fmt::format("{} with {} blocks of {} threads", coll::name(plan.algorithm), plan.blocks, plan.threads);
}

/// Says why the first of `lines` is taken on a machine that is not here, and what would be without measuring there.
std::string simulated_reason(const std::vector<Line>& lines, const coll::Plan& untuned,
                             std::optional<double> untuned_us) {
  const Line& best = lines.front();
  std::string said = fmt::format("{} should take {:.1f} µs", describe(best.plan), best.simulated_us.value_or(0));
  if (lines.size() > 1)
    said += fmt::format(", {} {:.1f}", coll::name(lines[1].plan.algorithm), lines[1].simulated_us.value_or(0));
  said += ": simulated, link by link, as sennit sim does";
  if (untuned.algorithm == best.plan.algorithm && untuned.blocks == best.plan.blocks) return said;
  said += fmt::format(". The cost model, which has one rate for all links, would take {}", describe(untuned));
  if (untuned_us) said += fmt::format(" ({:.1f} µs simulated)", *untuned_us);
  return said + "; sennit tune on that machine decides by measuring";
}

/// Says why the first of `lines` is taken.
std::string reason(const std::vector<Line>& lines, const Entry* entry, const coll::CallKey& which,
                   device::Kind kind) {
  if (entry != nullptr) {
    const Timed& taken = entry->plans.front();
    std::string said = fmt::format("{} took {:.1f} µs for {} when this machine was tuned", describe(taken.plan),
                                   taken.us, format_bytes(entry->which.bytes));
    const bool model_is_better = entry->model_us > 0 && taken.us >= entry->model_us;
    if (model_is_better)
      return said + fmt::format(", and nothing was faster beyond the noise ({} plans were tried)", entry->candidates);
    return said +
           fmt::format(", the cost model's choice {:.1f} ({} plans were tried)", entry->model_us, entry->candidates);
  }
  if (kind == device::Kind::host) return "On the host executor a rule decides: see docs/tune/collectives.md";
  const Line& best = lines.front();
  const auto other =
      std::ranges::find_if(lines, [&](const Line& line) { return line.plan.algorithm != best.plan.algorithm; });
  std::string said = fmt::format("{} should take {:.1f} µs", describe(best.plan), best.cost.total_us());
  if (other != lines.end())
    said += fmt::format(", {} {:.1f}", coll::name(other->plan.algorithm), other->cost.total_us());
  if (which.bytes == 0) return said;
  return said +
         (best.cost.moving_us > 0.5 * best.cost.total_us() ? "; most of it moves bytes" : "; most of it is latency");
}

/// Says which library is the faster one by these entries, in all of which sennit has to be.
struct Faster {
  bool sennit = false;
  std::string times;  ///< its own, and the other's where that is known
};
Faster faster_of(const std::vector<Entry>& measured) {
  const auto lost = std::ranges::find_if_not(measured, &Entry::beats_nccl);
  if (lost == measured.end())
    return {true,
            fmt::format("({:.1f} µs, NCCL {:.1f})", measured.front().plans.front().us, measured.front().nccl_us)};
  if (lost->plans.empty()) return {false, fmt::format("({:.1f} µs)", lost->nccl_us)};
  return {false, fmt::format("({:.1f} µs, sennit {:.1f})", lost->nccl_us, lost->plans.front().us)};
}

/// Says where windows change which library is the faster one in NCCL's programs; else empty. `lookup`: with the
/// blocks that sennit has there.
std::string windows_sentence(const Lookup& lookup, coll::CallKey which, const coll::Team& team) {
  which.windows = false;
  const auto ordinary = lookup.around(which, team);
  which.windows = true;
  const auto straight = lookup.around(which, team);
  const auto was_compared = [](const std::vector<Entry>& entries) {
    return !entries.empty() && std::ranges::all_of(entries, [](const Entry& entry) { return entry.nccl_us > 0; });
  };
  if (!was_compared(ordinary) || !was_compared(straight)) return {};
  const Faster without = faster_of(ordinary), with = faster_of(straight);
  if (without.sennit == with.sennit) return {};
  return fmt::format(". In NCCL's programs {} is faster in ordinary buffers {} and {} between registered windows {}",
                     without.sennit ? "sennit" : "NCCL", without.times, with.sennit ? "sennit" : "NCCL", with.times);
}

}  // namespace

Json explain(const Question& question, const machine::Machine& machine, const Table* table,
             const std::vector<Simulated>& simulated) {
  const coll::CallKey& which = question.which;
  coll::Team team;
  team.size = static_cast<int>(question.layout.size());
  team.shape = coll::Shape::of(question.scratch_bytes, team.size);
  const coll::Figures figures = figures_of(machine, question.layout);
  const coll::CallKey bucket = coll::bucket_of(which);
  const auto entry =
      table != nullptr ? Lookup(*table, question.layout, machine).find(bucket, team) : std::optional<Entry>();
  const coll::Plan untuned = coll::choose(bucket, team, question.kind, figures);
  const bool by_simulator = !entry && !simulated.empty();
  const coll::Plan chosen = entry ? entry->plans.front().plan : by_simulator ? simulated.front().plan : untuned;

  std::vector<Line> lines;
  const auto line_of = [&](const coll::Plan& plan) -> Line& {
    const auto same = std::ranges::find(lines, plan, &Line::plan);
    if (same != lines.end()) return *same;
    lines.push_back({plan, coll::cost_of(which, plan, team, figures), std::nullopt, simulated_us(simulated, plan)});
    return lines.back();
  };
  // Plans come with the fastest first, by the simulator where it knows.
  const auto expected = [&](const Line& line) {
    return by_simulator ? line.simulated_us.value_or(std::numeric_limits<double>::infinity()) : line.cost.total_us();
  };
  // Each algorithm keeps the plan that should be fastest.
  std::map<coll::Algorithm, Line> best;
  for (const coll::Plan& plan : coll::candidates(bucket, team, question.kind)) {
    const Line line{plan, coll::cost_of(which, plan, team, figures), std::nullopt, simulated_us(simulated, plan)};
    const auto [at, is_new] = best.try_emplace(plan.algorithm, line);
    if (!is_new && expected(line) < expected(at->second)) at->second = line;
  }
  line_of(chosen);
  for (const auto& [algorithm, line] : best)
    if (algorithm != chosen.algorithm) line_of(line.plan);
  if (entry)
    for (const Timed& timed : entry->plans) line_of(timed.plan).measured = timed;
  // The chosen one first, then what was measured, then what was predicted.
  std::stable_sort(lines.begin() + 1, lines.end(), [&](const Line& a, const Line& b) {
    if (a.measured.has_value() != b.measured.has_value()) return a.measured.has_value();
    return a.measured ? a.measured->us < b.measured->us : expected(a) < expected(b);
  });

  Json rejected = Json::array();
  for (const coll::Algorithm algorithm : coll::algorithms_of(which.operation)) {
    if (best.contains(algorithm)) continue;
    if (coll::needs_windows(algorithm) && !which.windows) {
      rejected.push_back({{"algorithm", coll::name(algorithm)}, {"why", "needs buffers in symmetric windows"}});
      continue;
    }
    const unsigned most_blocks = coll::most_candidate_blocks(algorithm, question.kind);
    const std::uint64_t most = coll::most_bytes(which.operation, {algorithm, most_blocks}, team);
    rejected.push_back({{"algorithm", coll::name(algorithm)},
                        {"why", fmt::format("takes at most {} with {} blocks", format_bytes(most), most_blocks)}});
  }
  std::string said = by_simulator ? simulated_reason(lines, untuned, simulated_us(simulated, untuned))
                                  : reason(lines, entry ? &*entry : nullptr, which, question.kind);
  if (table != nullptr) {
    const Room in_nccls_programs{Entry::kBesideKernels, coll::kMostBlocks};
    said += windows_sentence(Lookup(*table, question.layout, machine, in_nccls_programs), bucket, team);
  }
  const bool loads = coll::work_of(which, chosen.algorithm, team.size).way == coll::Way::pull;
  Json candidates = Json::array();
  for (const Line& line : lines) candidates.push_back(line_json(line, which, team.size));
  return {{"version", 1},
          {"kind", "collective plan"},
          {"operation", coll::name(which.operation)},
          {"bytes", which.bytes},
          {"type", device::name(question.reduction.type)},
          {"operator", device::name(question.reduction.op)},
          {"arithmetic", coll::name(which.arithmetic)},
          {"windows", which.windows},
          {"ranks", team.size},
          {"machine", machine.name},
          {"layout", question.layout},
          {"scratch_bytes", question.scratch_bytes},
          {"link_gbps", loads ? figures.pull_gbps : figures.link_gbps},
          {"source", entry          ? "table"
                     : by_simulator ? "simulator"
                                    : "model"},
          {"measured_bytes", entry ? Json(entry->which.bytes) : Json()},
          {"chosen", plan_json(chosen)},
          {"reason", std::move(said)},
          {"candidates", std::move(candidates)},
          {"rejected", std::move(rejected)}};
}

}  // namespace sennit::plan
