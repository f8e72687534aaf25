#include "sim/fluid.h"

#include <algorithm>
#include <cmath>

namespace sennit::sim {

namespace {

/// Rates that differ by less are the same: two ways of adding up the same flows.
constexpr double kSame = 1e-12;

}  // namespace

Fluid::Fluid(std::vector<double> capacity, double epsilon_us)
    : epsilon_(epsilon_us), resources_(capacity.size()), threshold_(kNever) {
  for (std::size_t i = 0; i < capacity.size(); ++i) resources_[i].capacity = capacity[i];
}

Fluid::Id Fluid::begin(const Begin& begun) {
  const auto count = static_cast<std::uint32_t>(begun.uses.size());
  if (spare_.size() <= count) spare_.resize(count + 1);
  Id id = 0;
  if (!spare_[count].empty()) {
    id = spare_[count].back();
    spare_[count].pop_back();
  } else {
    id = static_cast<Id>(flows_.size());
    flows_.emplace_back();
    flows_[id].uses = static_cast<std::uint32_t>(uses_.size());
    uses_.resize(uses_.size() + count);
  }
  Flow& flow = flows_[id];
  const std::uint32_t seen = flow.seen;
  flow = {.left = begun.bytes,
          .since = now_,
          .cap = begun.cap,
          .weight = begun.weight,
          .bytes = begun.bytes,
          .uses = flow.uses,
          .count = count,
          .place = static_cast<std::uint32_t>(heap_.size()),
          .seen = seen};
  for (std::uint32_t k = 0; k < count; ++k) {
    auto& members = resources_[static_cast<std::size_t>(begun.uses[k].resource)].uses;
    uses_[flow.uses + k] = {begun.uses[k].weight, id, static_cast<std::uint32_t>(begun.uses[k].resource),
                            static_cast<std::uint32_t>(members.size())};
    members.push_back(flow.uses + k);
  }
  heap_.push_back({kNever, id});
  if (count == 0) {
    flow.rate = flow.cap;
    settle(id);
  } else {
    mark(flow);
    threshold_ = 0;
  }
  return id;
}

void Fluid::mark(Flow& flow) {
  for (std::uint32_t k = 0; k < flow.count; ++k) {
    const std::uint32_t resource = uses_[flow.uses + k].resource;
    if (resources_[resource].marked) continue;
    resources_[resource].marked = true;
    marked_.push_back(resource);
  }
}

double Fluid::next() {
  solve();
  return heap_.empty() ? kNever : heap_.front().time;
}

double Fluid::rate(Id flow) {
  solve();
  return flows_[flow].rate;
}

int Fluid::limit(Id flow) {
  solve();
  return flows_[flow].limit;
}

void Fluid::advance(double time, std::vector<End>& ends) {
  solve();
  const double until = !heap_.empty() && heap_.front().time <= time ? time + epsilon_ : time;
  now_ = std::max(now_, time);
  while (!heap_.empty() && heap_.front().time <= until) {
    // All that end together, whether or not in the same batch, are found together.
    const Ending ended = heap_.front();
    now_ = std::max(now_, ended.time);
    ends.push_back({ended.flow, ended.time, flows_[ended.flow].limit});
    remove(ended.flow);
  }
}

void Fluid::remove(Id id) {
  Flow& flow = flows_[id];
  mark(flow);
  if (flow.count > 0) threshold_ = std::min(threshold_, flow.level * (1 - kSame));
  for (std::uint32_t k = 0; k < flow.count; ++k) {
    const Use& use = uses_[flow.uses + k];
    Resource& resource = resources_[use.resource];
    resource.carried += flow.bytes * use.weight;
    resource.uses[use.place] = resource.uses.back();
    uses_[resource.uses[use.place]].place = use.place;
    resource.uses.pop_back();
  }
  const std::uint32_t place = flow.place;
  heap_[place] = heap_.back();
  flows_[heap_[place].flow].place = place;
  heap_.pop_back();
  if (place < heap_.size()) sift(place);
  spare_[flow.count].push_back(id);
}

void Fluid::solve() {
  if (marked_.empty()) return;
  collect(threshold_);
  fill();
  for (std::size_t i = 0; i < free_.size(); ++i) {
    Flow& flow = flows_[free_[i]];
    if (std::abs(flow.rate - before_[i]) <= kSame * before_[i]) {
      flow.rate = before_[i];
      continue;
    }
    const double rate = flow.rate;
    flow.rate = before_[i];
    flow.left = std::max(0.0, flow.left - flow.rate * (now_ - flow.since));
    flow.since = now_;
    flow.rate = rate;
    settle(free_[i]);
  }
  solved_ += free_.size();
  for (const std::uint32_t each : marked_) resources_[each].marked = false;
  marked_.clear();
  threshold_ = kNever;
}

/// Resources and flows whose rates may change; the others there are taken as they are.
void Fluid::collect(double threshold) {
  ++round_;
  found_.clear();
  free_.clear();
  before_.clear();
  for (const std::uint32_t each : marked_) {
    resources_[each].seen = round_;
    found_.push_back(each);
  }
  for (std::size_t i = 0; i < found_.size(); ++i) {
    Resource& resource = resources_[found_[i]];
    resource.left = resource.capacity;
    resource.wanted = 0;
    resource.free_flows = 0;
    for (const std::uint32_t each : resource.uses) {
      const Use& use = uses_[each];
      Flow& flow = flows_[use.flow];
      if (flow.level < threshold && flow.rate > 0) {
        resource.left -= flow.rate * use.weight;
        continue;
      }
      resource.wanted += flow.weight * use.weight;
      ++resource.free_flows;
      if (flow.seen == round_) continue;
      flow.seen = round_;
      flow.frozen = false;
      free_.push_back(use.flow);
      before_.push_back(flow.rate);
      for (std::uint32_t k = 0; k < flow.count; ++k) {
        const std::uint32_t other = uses_[flow.uses + k].resource;
        if (resources_[other].seen == round_) continue;
        resources_[other].seen = round_;
        found_.push_back(other);
      }
    }
  }
}

void Fluid::fill() {
  const auto higher = [](const Level& a, const Level& b) { return a.level > b.level; };
  levels_.clear();
  for (const std::uint32_t each : found_)
    if (const Resource& resource = resources_[each]; resource.free_flows > 0)
      levels_.push_back({std::max(0.0, resource.left) / resource.wanted, static_cast<std::int64_t>(each)});
  for (const Id id : free_)
    if (const Flow& flow = flows_[id]; flow.cap < kNever)
      levels_.push_back({flow.cap / flow.weight, -1 - static_cast<std::int64_t>(id)});
  std::ranges::make_heap(levels_, higher);
  double reached = 0;
  while (!levels_.empty()) {
    std::ranges::pop_heap(levels_, higher);
    const Level lowest = levels_.back();
    levels_.pop_back();
    if (lowest.who < 0) {
      const Id id = static_cast<Id>(-1 - lowest.who);
      if (!flows_[id].frozen) {
        freeze(id, lowest.level, -1);
        flows_[id].rate = flows_[id].cap;
      }
      continue;
    }
    Resource& resource = resources_[static_cast<std::size_t>(lowest.who)];
    if (resource.free_flows == 0) continue;
    // Flows that stopped meanwhile have left it some room: it is full later than was thought.
    const double level = std::max(reached, std::max(0.0, resource.left) / resource.wanted);
    if (level > lowest.level * (1 + kSame)) {
      levels_.push_back({level, lowest.who});
      std::ranges::push_heap(levels_, higher);
      continue;
    }
    reached = level;
    for (std::size_t i = 0; resource.free_flows > 0 && i < resource.uses.size(); ++i) {
      const Id id = uses_[resource.uses[i]].flow;
      const Flow& flow = flows_[id];
      if (flow.seen == round_ && !flow.frozen) freeze(id, level, static_cast<int>(lowest.who));
    }
  }
}

void Fluid::freeze(Id id, double level, int limit) {
  Flow& flow = flows_[id];
  flow.frozen = true;
  flow.level = level;
  flow.rate = level * flow.weight;
  flow.limit = limit;
  for (std::uint32_t k = 0; k < flow.count; ++k) {
    const Use& use = uses_[flow.uses + k];
    Resource& resource = resources_[use.resource];
    resource.left -= flow.rate * use.weight;
    resource.wanted -= flow.weight * use.weight;
    --resource.free_flows;
  }
}

double Fluid::end_of(const Flow& flow) const {
  if (flow.left <= 0) return flow.since;
  return flow.rate > 0 ? flow.since + flow.left / flow.rate : kNever;
}

/// Puts a flow where its end belongs.
void Fluid::settle(Id id) {
  Flow& flow = flows_[id];
  heap_[flow.place].time = end_of(flow);
  sift(flow.place);
}

void Fluid::sift(std::uint32_t place) {
  const Ending moved = heap_[place];
  const auto put = [&](std::uint32_t to, const Ending& what) {
    heap_[to] = what;
    flows_[what.flow].place = to;
  };
  // Ends at the same time are in the order of ids, so that a run does not depend on how it came about.
  const auto sooner = [](const Ending& a, const Ending& b) {
    return a.time < b.time || (a.time == b.time && a.flow < b.flow);
  };
  constexpr std::uint32_t kChildren = 4;
  while (place > 0 && sooner(moved, heap_[(place - 1) / kChildren])) {
    put(place, heap_[(place - 1) / kChildren]);
    place = (place - 1) / kChildren;
  }
  for (;;) {
    std::uint32_t least = place * kChildren + 1;
    if (least >= heap_.size()) break;
    const auto end = std::min<std::size_t>(least + kChildren, heap_.size());
    for (std::uint32_t child = least + 1; child < end; ++child)
      if (sooner(heap_[child], heap_[least])) least = child;
    if (!sooner(heap_[least], moved)) break;
    put(place, heap_[least]);
    place = least;
  }
  put(place, moved);
}

}  // namespace sennit::sim
