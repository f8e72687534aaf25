#include "plan/chooser.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/environment.h"
#include "base/log.h"
#include "plan/figures.h"

namespace sennit::plan {

namespace {

/// Calls are timed that should take at least so long, in µs: shorter ones are mostly launch.
constexpr double kLeastSampled = 20;

// A case in one word.
std::uint64_t key_of(const coll::CallKey& which) {
  return which.bytes << 8 | static_cast<std::uint64_t>(which.operation) << 4 | std::uint64_t(which.windows) << 3 |
         static_cast<std::uint64_t>(which.arithmetic);
}
coll::CallKey unpack_key(std::uint64_t key) {
  return {static_cast<coll::Operation>(key >> 4 & 15), static_cast<coll::Arithmetic>(key & 7), key >> 8,
          (key >> 3 & 1) != 0};
}

void warn(const std::string& why) {
  log(LogLevel::warning, "collectives go by the cost model: " + why);
}

/// Returns the table that was given, if it suits.
Result<Table> suited(Table given, const machine::Machine& machine, std::uint64_t scratch_bytes) {
  auto status = given.entries.empty() ? Status() : suits(given, machine, scratch_bytes);
  return status.ok() ? Result<Table>(std::move(given)) : status;
}

/// This rank's table; empty where there is none. One that does not suit is said and passed over, also where the user
/// has named it, since jobs run on several machines. One that is named and cannot be read is an error: its name is
/// wrong.
Result<Table> table_of(std::optional<Table> given, const machine::Machine& machine, std::uint64_t scratch_bytes) {
  const bool is_named = !given && !environment("SENNIT_TABLE").empty();
  auto table = given ? suited(*std::move(given), machine, scratch_bytes) : own_table(machine, scratch_bytes);
  if (table.ok() || (is_named && table.status().code() != Code::mismatch)) return table;
  warn(table.status().text());
  return Table();
}

}  // namespace

Status Chooser::meet(node::Node& node, const coll::Team& team, std::uint64_t scratch_bytes) {
  node_ = &node;
  team_ = team;
  const machine::Machine& machine = node.machine();
  auto table = table_of(std::move(given_), machine, scratch_bytes);
  Status status = table.status();
  const bool has_table = status.ok() && !table->entries.empty();
  std::vector<Timer> timers(has_table ? PlanSwitch::kSamples : 0);
  for (Timer& timer : timers)
    for (auto* event : {&timer.start, &timer.end}) {
      const device::SetUp set_up(&node.executor());
      auto made = node.executor().event(node.device(), true);
      if (made.ok())
        *event = std::move(*made);
      else if (status.ok())
        status = made.status();
    }
  auto adapt = environment_switch("SENNIT_ADAPT");
  if (status.ok()) status = adapt.status();
  comm::Writer mine;
  mine.text(node.device_id())
      .text(has_table ? hash(*table) : std::string())
      .number(adapts_ && adapt.ok() && *adapt ? 1 : 0);
  auto all = comm::agree(node.group().exchange(), status, mine.take());
  if (!all) return all.status();

  Layout layout;
  std::vector<std::string> hashes;
  bool adapts = true;
  for (const comm::Bytes& each : *all) {
    comm::Reader reader(each);
    layout.push_back(reader.text());
    hashes.push_back(reader.text());
    adapts = adapts && reader.number() == 1;
  }
  figures_ = figures_of(machine, layout);
  std::vector<int> others;
  for (std::size_t rank = 1; rank < hashes.size(); ++rank)
    if (hashes[rank] != hashes[0]) others.push_back(static_cast<int>(rank));
  if (!others.empty()) {
    if (node.rank() == 0)
      warn(fmt::format(
          "the table of rank {} is not that of rank 0; give all ranks the same SENNIT_CACHE or SENNIT_TABLE",
          fmt::join(others, ", ")));
    return {};
  }
  if (hashes[0].empty()) return {};
  lookup_ = Lookup(*table, layout, machine, room_);
  if (!adapts || lookup_.empty()) return {};

  timers_ = std::move(timers);
  std::vector<PlanSwitch::Words> words;
  for (int rank = 0; rank < node.size(); ++rank) {
    comm::RankSlots& slots = node.group().slots(rank);
    words.push_back({&slots.plan_switch, &slots.samples});
  }
  plan_switch_ = std::make_unique<PlanSwitch>(std::move(words), node.rank());
  return {};
}

Chooser::Decision& Chooser::decide(const coll::CallKey& bucket) {
  const auto [found, is_new] = decisions_.try_emplace(bucket);
  Decision& decision = found->second;
  if (!is_new) return decision;
  if (const auto entry = lookup_.find(bucket, team_)) {
    for (const Timed& timed : entry->plans) {
      decision.plans.push_back(timed.plan);
      // Times are of the entry's size; this one's are taken to be in proportion.
      const double factor =
          static_cast<double>(bucket.bytes) / static_cast<double>(std::max<std::uint64_t>(entry->which.bytes, 1));
      decision.expected.push_back(timed.us * std::max(1.0, factor));
    }
    if (plan_switch_ != nullptr && node_->rank() == 0 && decision.plans.size() > 1)
      decision.correction = std::make_unique<Correction>(decision.expected);
  } else {
    decision.plans = {coll::choose(bucket, team_, node_->executor().kind(), figures_, room_.of(bucket.operation))};
  }
  return decision;
}

coll::Plan Chooser::plan(const coll::CallKey& which) {
  const Decision& decision = decide(coll::bucket_of(which));
  return decision.plans[decision.current];
}

coll::Plan Chooser::call(const coll::CallKey& which) {
  if (plan_switch_ == nullptr) return plan(which);
  const coll::CallKey bucket = coll::bucket_of(which);
  timer_ = nullptr;
  if (ended_) {
    follow();
    const auto start = comm::Clock::now();
    if (const auto change = plan_switch_->call([&] { return gave_up(start); })) apply(*change);
  }
  ended_ = false;
  const Decision& decision = decide(bucket);
  const std::uint64_t calls = plan_switch_->calls();
  if (calls % PlanSwitch::kSamplePeriod == 0 && decision.expected.size() > 1 &&
      decision.expected[decision.current] >= kLeastSampled) {
    Timer& timer = timers_[calls / PlanSwitch::kSamplePeriod % timers_.size()];
    if (!timer.recorded) {
      timer.sampled = {calls, bucket, decision.current};
      timer_ = &timer;
    }
  }
  return decision.plans[decision.current];
}

bool Chooser::gave_up(comm::Clock::time_point start) {
  comm::Group& group = node_->group();
  if (!group.failed() && comm::Clock::now() - start > group.limit())
    group.abort(Status(Code::timed_out, "rank 0 does not say from which call on another plan is taken", "collectives",
                       "See where that rank is"));
  return group.failed();
}

void Chooser::apply(const Change& change) {
  const coll::CallKey bucket = unpack_key(change.key);
  Decision& decision = decide(bucket);
  if (change.value >= decision.plans.size()) return;
  if (node_->rank() == 0)
    log(LogLevel::info,
        fmt::format("{} of {} bytes: {} instead of {}, which is slower than it measured",
                    coll::name(bucket.operation), bucket.bytes, coll::name(decision.plans[change.value].algorithm),
                    coll::name(decision.plans[decision.current].algorithm)));
  decision.current = change.value;
}

void Chooser::follow() {
  for (Timer& timer : timers_) {
    if (!timer.recorded) continue;
    const device::SetUp set_up(&node_->executor());  // the caller may be capturing
    const auto done = timer.end->done();
    if (done.ok() && !*done) continue;
    if (const auto us = done.ok() ? timer.end->since(*timer.start) : Result<double>(done.status()); us.ok()) {
      plan_switch_->sample(timer.sampled.call, *us);
      if (node_->rank() == 0) open_.push_back(timer.sampled);
    }
    timer.recorded = false;
  }
  if (node_->rank() != 0) return;
  // A call that some rank has not timed yields no sample: later calls take its place.
  while (!open_.empty() &&
         open_.front().call + PlanSwitch::kSamples * PlanSwitch::kSamplePeriod <= plan_switch_->calls())
    open_.pop_front();
  for (auto open = open_.begin(); open != open_.end() && !wanted_;) {
    const auto us = plan_switch_->fastest(open->call);
    if (!us) {
      ++open;
      continue;
    }
    const Sampled sampled = *open;
    open = open_.erase(open);
    const Decision& decision = decide(sampled.bucket);
    if (decision.correction == nullptr || decision.current != sampled.plan ||
        decision.correction->current() != sampled.plan)
      continue;  // a change is on its way
    if (const auto next = decision.correction->observe(*us)) wanted_ = Change{key_of(sampled.bucket), *next};
  }
  if (wanted_ && plan_switch_->propose(*wanted_)) wanted_.reset();
}

Status Chooser::starts(device::Lane& lane) {
  // A captured call has no time of its own. Either all ranks capture a call, or no rank does.
  if (timer_ != nullptr && lane.capturing()) timer_ = nullptr;
  return timer_ != nullptr ? lane.record(*timer_->start) : Status();
}

Status Chooser::ends(device::Lane& lane) {
  ended_ = true;
  if (timer_ == nullptr) return {};
  timer_->recorded = true;
  return lane.record(*timer_->end);
}

}  // namespace sennit::plan
