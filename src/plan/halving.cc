#include "plan/halving.h"

#include <algorithm>

#include <fmt/format.h>

namespace sennit::plan {

namespace {

/// Leaves the candidates that are worth trying.
void narrow(std::vector<Candidate>& candidates, const HalvingOptions& options) {
  const double limit = candidates.front().predicted_us * options.promising;
  std::size_t keep = 0;
  while (keep < candidates.size() && keep < options.most &&
         (keep < options.least || candidates[keep].predicted_us <= limit))
    ++keep;
  candidates.resize(keep);
}

bool beats(const Timed& one, const Timed& other, double margin) {
  return one.us < other.us * (1 - margin) && one.us + one.spread_us < other.us - other.spread_us;
}

}  // namespace

Result<Found> halve(std::vector<Candidate> candidates, const Measure& measure,
                    const std::function<bool()>& within_budget, const HalvingOptions& options) {
  narrow(candidates, options);
  const coll::Plan model = candidates.front().plan;
  Found found;
  std::vector<Timed> running;  // in the order of candidates, later by time
  for (const Candidate& candidate : candidates) running.push_back({candidate.plan, 0, 0});
  std::vector<Timed> timed;  // the latest of each plan
  const auto keep = [&](const Timed& latest) {
    const auto same = std::ranges::find(timed, latest.plan, &Timed::plan);
    if (same != timed.end())
      *same = latest;
    else
      timed.push_back(latest);
  };
  for (int round = 0; round < options.efforts && !running.empty(); ++round) {
    std::vector<Timed> measured;
    for (const Timed& each : running) {
      if (!timed.empty() && !within_budget()) break;
      auto result = measure(each.plan, 1 << round);
      if (!result && result.status().code() == Code::corrupt && round == 0) {
        found.wrong.push_back(each.plan);
        continue;
      }
      if (!result) return result.status();
      measured.push_back(*result);
      keep(*result);
    }
    if (round == 0) found.timed = static_cast<unsigned>(timed.size());
    if (measured.size() < running.size() - (round == 0 ? found.wrong.size() : 0)) break;  // the budget is spent
    std::ranges::stable_sort(measured, {}, &Timed::us);
    // What cannot be told from the best by its noise stays in, and so does what would be taken without measuring.
    std::vector<Timed> next;
    const std::size_t half = std::max<std::size_t>(2, (measured.size() + 1) / 2);
    for (std::size_t i = 0; i < measured.size(); ++i)
      if (i < half || measured[i].plan == model) next.push_back(measured[i]);
    if (next.size() <= 1) break;
    running = std::move(next);
  }
  if (timed.empty())
    return Status(Code::corrupt, fmt::format("all {} plans gave wrong results", found.wrong.size()), {},
                  "Run: sennit doctor");
  std::ranges::stable_sort(timed, {}, &Timed::us);
  const auto own = std::ranges::find(timed, model, &Timed::plan);
  if (own != timed.end()) {
    found.model_us = own->us;
    if (!beats(timed.front(), *own, options.margin)) std::rotate(timed.begin(), own, own + 1);
  }
  if (timed.size() > Entry::kMostPlans) timed.resize(Entry::kMostPlans);
  found.plans = std::move(timed);
  return found;
}

}  // namespace sennit::plan
