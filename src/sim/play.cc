#include "sim/play.h"

#include <algorithm>
#include <deque>
#include <map>
#include <queue>

#include <fmt/format.h>

namespace sennit::sim {

namespace {

using Id = Graph::Id;

class Play {
 public:
  Play(const Graph& graph, const Fabric& fabric, double epsilon_us)
      : graph_(graph), fabric_(fabric), fluid_(fabric.capacity(), epsilon_us) {}

  Result<Played> run();

 private:
  struct State {
    std::uint32_t missing = 0;  // of what it needs
    Id cause = Graph::kNone;    // what it waited for the longest
    double began = 0, moved = 0, ended = 0;
    int limit = -1;  // of its bytes
    bool done = false;
  };
  struct Line {
    std::deque<Id> waiting;
    bool busy = false;
  };
  struct Due {
    double time;
    Id task;
    bool operator>(const Due& other) const { return time > other.time || (time == other.time && task > other.task); }
  };

  void index_followers();
  void ready(Id id);
  void begin(Id id);
  void move(Id id);
  void end(Id id);
  Status no_way(Id id) const;
  std::vector<Critical> critical(Id last) const;

  const Graph& graph_;
  const Fabric& fabric_;
  Fluid fluid_;
  std::vector<State> states_;
  std::vector<std::uint32_t> first_follower_;
  std::vector<Id> followers_;
  std::vector<Line> lines_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  std::vector<Id> by_flow_;
  std::vector<path::Usage> uses_;
  std::vector<Id> done_;  // to be followed up: not by recursion, which a long chain would make deep
  Status failed_;
  double now_ = 0;
  std::uint64_t flows_ = 0;
};

void Play::index_followers() {
  const std::size_t tasks = graph_.size();
  states_.resize(tasks);
  first_follower_.assign(tasks + 1, 0);
  for (Id id = 0; id < tasks; ++id) {
    states_[id].missing = static_cast<std::uint32_t>(graph_.needs(id).size());
    for (const Id need : graph_.needs(id)) ++first_follower_[need + 1];
  }
  for (std::size_t i = 0; i < tasks; ++i) first_follower_[i + 1] += first_follower_[i];
  followers_.resize(first_follower_.back());
  std::vector<std::uint32_t> next(first_follower_.begin(), first_follower_.end() - 1);
  for (Id id = 0; id < tasks; ++id)
    for (const Id need : graph_.needs(id)) followers_[next[need]++] = id;
}

void Play::ready(Id id) {
  const std::uint32_t queue = graph_.task(id).queue;
  if (queue == Graph::kNone) return begin(id);
  Line& line = lines_[queue];
  if (line.busy) {
    line.waiting.push_back(id);
    return;
  }
  line.busy = true;
  begin(id);
}

void Play::begin(Id id) {
  states_[id].began = now_;
  const double us = graph_.task(id).us;
  if (us > 0)
    due_.push({now_ + us, id});
  else
    move(id);
}

void Play::move(Id id) {
  const Graph::Task& task = graph_.task(id);
  states_[id].moved = now_;
  if (task.bytes <= 0) return end(id);
  uses_.clear();
  const bool joined = task.multicast >= 0 ? fabric_.add_multicast(task.from, graph_.group(task.multicast), uses_)
                                          : fabric_.add_way(task.from, task.to, task.method, 1, uses_);
  if (!joined || (uses_.empty() && task.gbps == Graph::kUncapped)) {
    failed_ = no_way(id);
    return;
  }
  const double cap = task.gbps < Graph::kUncapped ? task.gbps * kPerGbps : kNever;
  const Fluid::Id flow = fluid_.begin({task.bytes, uses_, cap});
  if (by_flow_.size() <= flow) by_flow_.resize(flow + 1);
  by_flow_[flow] = id;
  ++flows_;
}

void Play::end(Id id) {
  states_[id].ended = now_;
  states_[id].done = true;
  done_.push_back(id);
}

Status Play::no_way(Id id) const {
  const Graph::Task& task = graph_.task(id);
  return Status(
      Code::unsupported,
      fmt::format("no links lead from {} to {}", fabric_.place_name(task.from), fabric_.place_name(task.to)),
      "machine '" + fabric_.network().machine().name + "'", "Add the missing links to its file");
}

Result<Played> Play::run() {
  index_followers();
  lines_.resize(graph_.queues());
  for (Id id = 0; id < graph_.size(); ++id)
    if (states_[id].missing == 0) ready(id);
  std::vector<Fluid::End> ends;
  while (failed_.ok()) {
    // What follows from what is done may itself be done at once.
    while (!done_.empty()) {
      const Id id = done_.back();
      done_.pop_back();
      if (const std::uint32_t queue = graph_.task(id).queue; queue != Graph::kNone) {
        Line& line = lines_[queue];
        line.busy = !line.waiting.empty();
        if (line.busy) {
          const Id next = line.waiting.front();
          line.waiting.pop_front();
          states_[next].cause = id;
          begin(next);
        }
      }
      for (std::uint32_t i = first_follower_[id]; i < first_follower_[id + 1]; ++i) {
        State& follower = states_[followers_[i]];
        if (--follower.missing > 0) continue;
        follower.cause = id;
        ready(followers_[i]);
      }
    }
    const double flow = fluid_.next(), timer = due_.empty() ? kNever : due_.top().time;
    if (!failed_.ok() || (flow == kNever && timer == kNever)) break;
    ends.clear();
    fluid_.advance(std::min(flow, timer), ends);
    now_ = std::max(now_, fluid_.now());
    for (const Fluid::End& ended : ends) {
      const Id id = by_flow_[ended.flow];
      states_[id].limit = ended.limit;
      end(id);
    }
    while (!due_.empty() && due_.top().time <= now_) {
      const Id id = due_.top().task;
      due_.pop();
      move(id);
    }
  }
  if (!failed_.ok()) return failed_;
  Played played;
  played.ends.reserve(states_.size());
  Id last = Graph::kNone;
  for (Id id = 0; id < states_.size(); ++id) {
    if (!states_[id].done)
      return Status(Code::unsupported, fmt::format("task {} of the graph never ends", id),
                    "machine '" + fabric_.network().machine().name + "'",
                    "Give links that carry nothing a rate, or leave them out");
    played.ends.push_back(states_[id].ended);
    if (last == Graph::kNone || states_[id].ended > states_[last].ended) last = id;
  }
  played.us = last == Graph::kNone ? 0 : states_[last].ended;
  played.critical = critical(last);
  played.loads = fabric_.loads(fluid_, played.us);
  played.flows = flows_;
  return played;
}

/// From the last end back: what each had to wait for.
std::vector<Critical> Play::critical(Id last) const {
  std::map<std::string, double> us;
  for (Id id = last; id != Graph::kNone; id = states_[id].cause) {
    const State& state = states_[id];
    const std::string& own = graph_.names()[graph_.task(id).what];
    if (state.moved > state.began) us[own] += state.moved - state.began;
    if (state.ended > state.moved)
      us[state.limit >= 0 ? fabric_.full(state.limit) : own] += state.ended - state.moved;
  }
  std::vector<Critical> all;
  for (const auto& [what, time] : us) all.push_back({what, time});
  std::ranges::stable_sort(all, std::greater<>(), &Critical::us);
  return all;
}

}  // namespace

Result<Played> play(const Graph& graph, const Fabric& fabric, double epsilon_us) {
  return Play(graph, fabric, epsilon_us).run();
}

}  // namespace sennit::sim
