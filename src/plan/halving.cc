#include "plan/halving.h"

#include <algorithm>

#include <fmt/format.h>

#include "coll/candidates.h"

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
  std::vector<coll::Plan> running;  // in the order of candidates, later by time
  for (const Candidate& candidate : candidates) running.push_back(candidate.plan);
  struct Latest {
    Timed timed;
    int round;
  };
  std::vector<Latest> timed;  // of each plan
  const auto plan_of = [](const Latest& latest) { return latest.timed.plan; };
  const auto keep = [&](const Timed& latest, int round) {
    const auto same = std::ranges::find(timed, latest.plan, plan_of);
    if (same != timed.end())
      *same = {latest, round};
    else
      timed.push_back({latest, round});
  };
  for (int round = 0; round < options.efforts && !running.empty(); ++round) {
    std::vector<Timed> measured;
    for (const coll::Plan& plan : running) {
      if (!timed.empty() && !within_budget()) {
        found.finished = false;
        break;
      }
      auto result = measure(plan, 1 << round);
      if (!result && result.status().code() == Code::corrupt && round == 0) {
        found.wrong.push_back(plan);
        continue;
      }
      if (!result) return result.status();
      measured.push_back(*result);
      keep(*result, round);
    }
    if (round == 0) found.timed = static_cast<unsigned>(timed.size());
    if (!found.finished) break;
    std::ranges::stable_sort(measured, {}, &Timed::us);
    // The plan that would be taken without measuring stays in.
    std::vector<coll::Plan> next;
    const std::size_t half = std::max<std::size_t>(2, (measured.size() + 1) / 2);
    for (std::size_t i = 0; i < measured.size(); ++i)
      if (i < half || measured[i].plan == model) next.push_back(measured[i].plan);
    if (next.size() <= 1) break;
    running = std::move(next);
  }
  if (timed.empty())
    return Status(Code::corrupt, fmt::format("all {} plans gave wrong results", found.wrong.size()), {},
                  "Run: sennit doctor");
  // A plan that was left behind after a short round may have been lucky there: those that went on go first.
  std::ranges::stable_sort(timed, [](const Latest& a, const Latest& b) {
    return a.round != b.round ? a.round > b.round : a.timed.us < b.timed.us;
  });
  const auto own = std::ranges::find(timed, model, plan_of);
  if (own != timed.end()) {
    found.model_us = own->timed.us;
    if (!beats(timed.front().timed, own->timed, options.margin)) std::rotate(timed.begin(), own, own + 1);
  }
  for (const Latest& latest : timed)
    if (found.plans.size() < options.kept) found.plans.push_back(latest.timed);
  return found;
}

Result<Found> add_narrow(Found found, const std::vector<Candidate>& candidates, const Measure& measure,
                         const std::function<bool()>& within_budget) {
  HalvingOptions options;
  options.most = 12;
  options.kept = 2;
  for (const unsigned blocks : Entry::kFewBlocks) {
    if (!found.finished || coll::fits(found.plans.front().plan, blocks)) continue;
    std::vector<Candidate> narrow;
    std::ranges::copy_if(candidates, std::back_inserter(narrow),
                         [&](const Candidate& each) { return coll::fits(each.plan, blocks); });
    if (narrow.empty()) continue;
    auto fastest = halve(std::move(narrow), measure, within_budget, options);
    if (!fastest && fastest.status().code() == Code::corrupt) continue;
    if (!fastest) return fastest;
    // Plans that were kept without being first may have been left behind after a short round.
    std::erase_if(found.plans, [&](const Timed& kept) { return coll::fits(kept.plan, blocks); });
    found.plans.insert(found.plans.end(), fastest->plans.begin(), fastest->plans.end());
    found.timed += fastest->timed;
    for (const coll::Plan& wrong : fastest->wrong)
      if (std::ranges::count(found.wrong, wrong) == 0) found.wrong.push_back(wrong);
    found.finished = fastest->finished;
  }
  return found;
}

}  // namespace sennit::plan
