#include "path/feedback.h"

#include <algorithm>
#include <cmath>

#include "path/equal_finish.h"

namespace sennit::path {

namespace {

const Share* share_of(const Split& split, const std::string& route) {
  const auto same = [&](const Share& share) { return share.candidate.route.name() == route; };
  const auto found = std::ranges::find_if(split.shares, same);
  return found == split.shares.end() ? nullptr : &*found;
}

}  // namespace

bool ShareFeedback::observe(const Split& plan, const Split& used, std::span<const double> finish_us) {
  if (used.shares.size() < 2 || finish_us.size() != used.shares.size()) return false;
  if (std::ranges::any_of(finish_us, [](double us) { return !(us > 0) || !std::isfinite(us); })) return false;
  for (const Share& share : used.shares)
    if (share_of(plan, share.candidate.route.name()) == nullptr) return false;

  for (std::size_t i = 0; i < finish_us.size(); ++i) {
    const Share& share = used.shares[i];
    const std::string route = share.candidate.route.name();
    Belief& known = belief(route);
    // Startup is taken from the plan; a route that beat it is judged by a small part of its time instead.
    const double moving_us = std::max(finish_us[i] - share.candidate.startup_us, 0.1 * finish_us[i]);
    const double seen = double(share.bytes) / (moving_us * 1e3) / share_of(plan, route)->candidate.rate_gbps;
    known.estimate = options_.smoothing * seen + (1 - options_.smoothing) * known.estimate;
  }

  const auto [first, last] = std::ranges::minmax(finish_us);
  const double gap = (last - first) / last;
  if (moving_ && gap < options_.stop_gap) moving_ = false, asked_ = 0;
  asked_ = gap > options_.start_gap ? asked_ + 1 : 0;
  if (asked_ >= options_.patience) moving_ = true;
  return moving_ && correct();
}

bool ShareFeedback::correct() {
  const bool recovered = std::ranges::all_of(
      beliefs_, [&](const Belief& known) { return std::abs(known.estimate - 1) <= options_.home; });
  bool changed = false;
  for (Belief& known : beliefs_) {
    const double bounded = std::clamp(known.estimate, known.applied / options_.step, known.applied * options_.step);
    const double next = recovered ? 1 : bounded;
    changed |= std::abs(next - known.applied) > 1e-3 * known.applied;
    known.applied = next;
  }
  return changed;
}

Split ShareFeedback::corrected(const Split& plan) const {
  if (plan.shares.size() < 2) return plan;
  Split moved = plan;
  std::vector<RateLine> lines;
  bool differs = false;
  for (Share& share : moved.shares) {
    const Belief* known = find(share.candidate.route.name());
    if (known != nullptr && known->applied != 1) share.candidate.rate_gbps *= known->applied, differs = true;
    lines.push_back({share.candidate.startup_us, share.candidate.rate_gbps});
  }
  if (!differs) return plan;

  std::vector<double> bytes = equal_finish(lines, double(plan.bytes)).bytes;
  // The other shares give up, in proportion, what the probing shares take.
  const double probe = options_.probe * double(plan.bytes);
  double small = 0, large = 0;
  for (const double share : bytes) (share < probe ? small : large) += share < probe ? probe : share;
  for (double& share : bytes) share = share < probe ? probe : share * (double(plan.bytes) - small) / large;

  // Shares keep the plan's order, so that its first route stays first; each then starts where the last one ends.
  const std::vector<std::uint64_t> rounded = round_shares(bytes, plan.bytes, kAlignment);
  moved.predicted_us = 0;
  std::uint64_t offset = 0;
  for (std::size_t i = 0; i < moved.shares.size(); ++i) {
    Share& share = moved.shares[i];
    share.offset = offset;
    share.bytes = rounded[i];
    share.finish_us = lines[i].overhead_us + double(share.bytes) / (lines[i].gbps * 1e3);
    offset += share.bytes;
    moved.predicted_us = std::max(moved.predicted_us, share.finish_us);
  }
  std::erase_if(moved.shares, [](const Share& share) { return share.bytes == 0; });
  return moved;
}

bool ShareFeedback::correcting() const {
  return std::ranges::any_of(beliefs_, [](const Belief& known) { return known.applied != 1; });
}

const ShareFeedback::Belief* ShareFeedback::find(const std::string& route) const {
  const auto found = std::ranges::find(beliefs_, route, &Belief::route);
  return found == beliefs_.end() ? nullptr : &*found;
}

ShareFeedback::Belief& ShareFeedback::belief(const std::string& route) {
  const auto found = std::ranges::find(beliefs_, route, &Belief::route);
  if (found != beliefs_.end()) return *found;
  return beliefs_.emplace_back(Belief{route, 1, 1});
}

}  // namespace sennit::path
