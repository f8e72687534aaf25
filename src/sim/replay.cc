// Replays a recording: one loop over events, whose cases share all of its state, so they are one class.
#include "sim/replay.h"

#include <algorithm>
#include <map>
#include <optional>
#include <queue>

#include <fmt/format.h>

#include "device/block.h"
#include "sim/past.h"
#include "sim/placement.h"

namespace sennit::sim {

using device::Act;
using device::End;
using device::Recording;
using device::Step;
using device::Strand;

namespace {

/// No board, no group.
constexpr std::uint32_t kNobody = ~std::uint32_t{0};

class Replay {
 public:
  /// `wider`: links and memories carry so many times what they do.
  Replay(const Recording& recording, const Fabric& fabric, const Placement& placement, const Setting& setting,
         double wider = 1)
      : recording_(recording),
        setting_(setting),
        costs_(setting.costs),
        fabric_(fabric),
        placement_(placement),
        fluid_(times(fabric.capacity(), wider), setting.epsilon_us),
        parties_(recording.strands.size()) {
    for (std::uint32_t i = 0; i < parties_.size(); ++i) parties_[i].begun = recording.strands[i].block < 0;
  }

  Result<Replayed> run();

 private:
  struct Party {
    std::size_t next = 0;                               // step
    std::uint32_t moving = 0;                           // flows under way
    double began = 0;                                   // of what it does now
    Past::Moment last = Past::kBegin;                   // moment at which it did its latest step
    bool begun = false, waiting = false, paid = false;  // paid: for the start of its movement, or a launch
    std::uint32_t running = 0;                          // of a lane: blocks that have not ended
  };
  struct Arrival {
    device::Word value;
    Past::Moment moment;
    double time;
  };
  struct Board {  // a word, or the first of a message's packets
    std::vector<Arrival> values;
    std::vector<std::uint32_t> waiting;  // strands
  };
  struct Timer {
    double time;
    std::uint64_t order;
    std::uint32_t strand;
    std::uint32_t board;  // kNobody: the strand goes on
    device::Word value;
    Past::Moment moment;
    bool operator>(const Timer& other) const {
      return time > other.time || (time == other.time && order > other.order);
    }
  };
  struct Moving {
    std::uint32_t strand, step;
    double began;
  };

  static std::vector<double> times(std::vector<double> capacity, double factor) {
    for (double& each : capacity) each *= factor;
    return capacity;
  }
  void go(std::uint32_t strand);
  bool step(std::uint32_t strand, std::size_t end);
  bool arrived(std::uint32_t strand, const Step& step, const End& end, bool packets);
  bool begin_moves(std::uint32_t strand, std::size_t end);
  void ended_move(const Fluid::End& end, const Moving& moved);
  void send(std::uint32_t strand, const Step& step, const End& to, double after, int reason);
  void after(double us, std::uint32_t strand, int reason);
  void wake(std::uint32_t board);
  void end_strand(std::uint32_t strand);
  /// Has done its steps below `next`.
  void pass(Party& party, std::size_t next) const {
    party.next = next;
    party.began = now();
    party.paid = false;
  }

  std::uint32_t board_of(const End& end, bool packets) {
    const auto next = static_cast<std::uint32_t>(boards_.size());
    const auto [found, is_new] = board_by_place_.emplace(std::tuple(end.region, end.offset, packets), next);
    if (is_new) boards_.emplace_back();
    return found->second;
  }
  void keep(Span::Kind kind, std::uint32_t strand, std::size_t step, double begin) {
    if (setting_.timeline && now() > begin)
      spans_.push_back({kind, strand, begin, now(), static_cast<std::uint32_t>(step)});
  }
  double now() const { return now_; }
  std::string stuck() const;

  const Recording& recording_;
  const Setting& setting_;
  const Costs& costs_;
  const Fabric& fabric_;
  const Placement& placement_;
  Fluid fluid_;
  std::vector<Party> parties_;
  std::vector<Board> boards_;
  std::map<std::tuple<std::uint32_t, std::uint64_t, bool>, std::uint32_t> board_by_place_;
  std::map<std::pair<std::uint32_t, device::Word>, Board> events_;
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
  std::vector<Moving> moving_;  // by flow
  Past past_;
  std::vector<Span> spans_;
  Status failed_;
  double now_ = 0, ended_ = 0;  // ended: the latest end of a strand; signals without a waiter may come later
  Past::Moment last_ = Past::kBegin;
  std::uint64_t timed_ = 0, flows_ = 0;
};

void Replay::after(double us, std::uint32_t strand, int why) {
  const Past::Moment cause = past_.add(parties_[strand].last, us, why);
  timers_.push({now() + us, timed_++, strand, kNobody, 0, cause});
}

/// Does all that a strand can do now.
void Replay::go(std::uint32_t strand) {
  Party& party = parties_[strand];
  const auto& steps = recording_.strands[strand].steps;
  while (party.begun && failed_.ok()) {
    if (party.next == steps.size()) return end_strand(strand);
    const std::size_t end = recording_.strands[strand].end_of_group(party.next);
    if (!step(strand, end)) return;
    pass(party, end);
  }
}

/// The group of steps that it stands at; false: not yet, and somebody will see to it.
bool Replay::step(std::uint32_t index, std::size_t end) {
  const Strand& strand = recording_.strands[index];
  Party& party = parties_[index];
  const Step& first = strand.steps[party.next];
  switch (first.act) {
    case Act::await:
      for (std::size_t i = party.next; i < end; ++i)
        if (!arrived(index, strand.steps[i], strand.source(strand.steps[i], 0), false)) return false;
      keep(Span::Kind::wait, index, party.next, party.began);
      return true;
    case Act::move:
      if (strand.block < 0 && (first.sources == 0 || first.destinations == 0)) return true;  // the caller's own time
      return begin_moves(index, end);
    case Act::signal:
    case Act::post: {
      const bool lane = strand.block < 0;
      if (lane && !party.paid) {
        party.paid = true;
        after(costs_.engine_signal_us, index, past_.reason("words behind copies"));
        return false;
      }
      for (std::size_t i = party.next; i < end; ++i)
        send(index, strand.steps[i], strand.destination(strand.steps[i], 0), costs_.signal_us,
             past_.reason("signals"));
      return true;
    }
    case Act::launch: {
      const device::Launch& launch = recording_.launches[first.subject];
      if (!party.paid) {
        party.paid = true;
        party.running = launch.recorded + 1;  // and this one, until they have begun
        after(launch.early ? costs_.early_us : costs_.launch_us, index, past_.reason("launches"));
        return false;
      }
      if (party.running == launch.recorded + 1) {
        keep(Span::Kind::launch, index, party.next, party.began);
        party.running = launch.recorded;
        for (std::uint32_t i = launch.first; i < launch.first + launch.recorded; ++i) {
          parties_[i].begun = true;
          parties_[i].began = now();
          parties_[i].last = party.last;
        }
        for (std::uint32_t i = launch.first; i < launch.first + launch.recorded; ++i) go(i);
        if (launch.recorded == 0) timers_.push({now(), timed_++, index, kNobody, 0, party.last});
        return false;  // the last of them says when
      }
      return party.running == 0;
    }
    case Act::record: {
      Board& board = events_[{first.subject, first.value}];
      board.values.push_back({first.value, past_.add(party.last, 0, past_.reason("events")), now()});
      for (const std::uint32_t other : board.waiting) {
        parties_[other].last = past_.add(party.last, costs_.event_us, past_.reason("events"));
        timers_.push({now() + costs_.event_us, timed_++, other, kNobody, 0, parties_[other].last});
      }
      board.waiting.clear();
      return true;
    }
    case Act::wait: {
      Board& board = events_[{first.subject, first.value}];
      if (!board.values.empty()) {
        keep(Span::Kind::wait, index, party.next, party.began);
        return true;
      }
      board.waiting.push_back(index);
      return false;
    }
  }
  return true;
}

bool Replay::arrived(std::uint32_t index, const Step& step, const End& end, bool packets) {
  if (!packets && device::reached(0, step.value)) return true;
  const std::uint32_t at = board_of(end, packets);
  Party& party = parties_[index];
  // Words only grow, so the first that is high enough is found by halving; a message's tags are new each time, so the
  // one that is waited for is among the last.
  const auto& values = boards_[at].values;
  auto found = values.end();
  if (packets) {
    const auto back =
        std::find_if(values.rbegin(), values.rend(), [&](const Arrival& each) { return each.value == step.value; });
    if (back != values.rend()) found = back.base() - 1;
  } else if (!values.empty() && device::reached(values.back().value, step.value)) {
    found = std::ranges::partition_point(
        values, [&](const Arrival& each) { return !device::reached(each.value, step.value); });
  }
  if (found != values.end()) {
    // Of all that it waits for, the last to come is what it has waited for.
    if (party.waiting && found->time >= now()) party.last = found->moment;
    return true;
  }
  party.waiting = true;
  boards_[at].waiting.push_back(index);
  return false;
}

void Replay::wake(std::uint32_t at) {
  std::vector<std::uint32_t> waiting;
  std::swap(waiting, boards_[at].waiting);
  for (const std::uint32_t strand : waiting) {
    parties_[strand].waiting = true;
    go(strand);
    parties_[strand].waiting = false;
  }
}

void Replay::send(std::uint32_t strand, const Step& step, const End& to, double us, int why) {
  const Past::Moment cause = past_.add(parties_[strand].last, us, why);
  timers_.push({now() + us, timed_++, strand, board_of(to, to.packets), step.value, cause});
}

bool Replay::begin_moves(std::uint32_t index, std::size_t end) {
  const Strand& strand = recording_.strands[index];
  Party& party = parties_[index];
  const bool lane = strand.block < 0;
  bool packets = false;
  for (std::size_t i = party.next; i < end; ++i)
    for (unsigned k = 0; k < strand.steps[i].sources + strand.steps[i].destinations; ++k) {
      const End& each = strand.ends[strand.steps[i].ends + k];
      packets = packets || each.packets;
      if (each.packets && k < strand.steps[i].sources && !party.paid && !arrived(index, strand.steps[i], each, true))
        return false;
    }
  if (!party.paid) {
    keep(Span::Kind::wait, index, party.next, party.began);
    party.began = now();
    party.paid = true;
    if (packets) return begin_moves(index, end);
    after(lane ? costs_.engine_us : costs_.move_us, index,
          past_.reason(lane ? "starts of copies" : "starts of movements"));
    return false;
  }
  if (party.moving > 0) return false;
  const double moves = static_cast<double>(end - party.next);
  for (std::size_t i = party.next; i < end; ++i) {
    const Step& step = strand.steps[i];
    if (step.bytes == 0) {
      for (unsigned k = 0; k < step.destinations; ++k)
        if (const End& to = strand.destination(step, k); to.packets)
          send(index, step, to, costs_.packet_us, past_.reason("packets on their way"));
      continue;
    }
    const auto demand = placement_.demand(index, step, moves, packets);
    if (!demand) {
      failed_ = demand.status();
      return false;
    }
    const Fluid::Id flow = fluid_.begin({static_cast<double>(step.bytes), demand->uses, demand->gbps * kPerGbps});
    if (moving_.size() <= flow) moving_.resize(flow + 1);
    moving_[flow] = {index, static_cast<std::uint32_t>(i), now()};
    ++party.moving;
    ++flows_;
  }
  return party.moving == 0;
}

void Replay::ended_move(const Fluid::End& end, const Moving& moved) {
  const Strand& strand = recording_.strands[moved.strand];
  Party& party = parties_[moved.strand];
  const std::string why = end.limit >= 0 ? fabric_.full(end.limit)
                                         : fmt::format("blocks of {} move no faster",
                                                       fabric_.place_name(placement_.gpu_of(moved.strand)));
  const Past::Moment cause = past_.add(party.last, end.time - moved.began, past_.reason(why, end.limit >= 0));
  const Step& step = strand.steps[moved.step];
  const std::uint32_t before = party.last;
  party.last = cause;
  for (unsigned k = 0; k < step.destinations; ++k)
    if (const End& to = strand.destination(step, k); to.packets)
      send(moved.strand, step, to, costs_.packet_us, past_.reason("packets on their way"));
  if (--party.moving > 0) {
    party.last = before;  // the last of the group is what counts
    return;
  }
  keep(strand.block < 0 ? Span::Kind::engine : Span::Kind::move, moved.strand, party.next, party.began);
  pass(party, strand.end_of_group(party.next));
  go(moved.strand);
}

void Replay::end_strand(std::uint32_t strand) {
  Party& party = parties_[strand];
  party.begun = false;
  last_ = party.last;
  ended_ = now();
  const Strand& ended = recording_.strands[strand];
  if (ended.block < 0) return;
  Party& lane = parties_[ended.lane];
  lane.last = party.last;  // the last to end is what the lane has waited for
  // Not at once: the lane may be about to begin the others.
  if (--lane.running == 0) timers_.push({now(), timed_++, ended.lane, kNobody, 0, lane.last});
}

std::string Replay::stuck() const {
  for (std::uint32_t i = 0; i < parties_.size(); ++i)
    if (parties_[i].begun && recording_.strands[i].block >= 0)
      return device::describe(recording_, i, parties_[i].next);
  for (std::uint32_t i = 0; i < parties_.size(); ++i)
    if (parties_[i].begun && parties_[i].next < recording_.strands[i].steps.size())
      return device::describe(recording_, i, parties_[i].next);
  return {};
}

Result<Replayed> Replay::run() {
  for (std::uint32_t i = 0; i < parties_.size(); ++i)
    if (const Strand& strand = recording_.strands[i]; strand.block < 0) {
      if (setting_.skew_us > 0 && strand.rank > 0)
        after(setting_.skew_us * strand.rank / recording_.ranks, i, past_.reason("ranks that begin later"));
      else
        go(i);
    }
  std::vector<Fluid::End> ends;
  std::vector<Moving> moved;
  while (failed_.ok()) {
    const double flow = fluid_.next(), timer = timers_.empty() ? kNever : timers_.top().time;
    if (flow == kNever && timer == kNever) break;
    ends.clear();
    fluid_.advance(std::min(flow, timer), ends);
    now_ = std::max(fluid_.now(), now_);
    // What follows from one end may begin a flow with the number of another.
    moved.clear();
    for (const Fluid::End& end : ends) moved.push_back(moving_[end.flow]);
    for (std::size_t i = 0; i < ends.size(); ++i) ended_move(ends[i], moved[i]);
    if (!ends.empty()) continue;
    const Timer due = timers_.top();
    timers_.pop();
    if (due.board != kNobody) {
      boards_[due.board].values.push_back({due.value, due.moment, now()});
      wake(due.board);
    } else {
      parties_[due.strand].last = due.moment;
      go(due.strand);
    }
  }
  if (!failed_.ok()) return failed_;
  if (const std::string which = stuck(); !which.empty())
    return Status(Code::corrupt, "the recording never ends: " + which + " waits for ever", {},
                  "sennit check says why");
  Replayed result;
  result.us = result.in_step_us = ended_;
  result.critical = past_.critical(last_);
  result.loads = fabric_.loads(fluid_, ended_);
  result.timeline = std::move(spans_);
  std::ranges::sort(result.timeline, {}, &Span::begin_us);
  result.flows = flows_;
  return result;
}

/// The most movements that a block goes through, one after the other.
unsigned movements_of(const Recording& recording) {
  unsigned most = 0;
  for (const Strand& strand : recording.strands) {
    if (strand.block < 0) continue;
    unsigned movements = 0;
    std::uint32_t group = kNobody;
    for (const Step& each : strand.steps)
      if (each.act == Act::move && each.group != group) {
        group = each.group;
        ++movements;
      }
    most = std::max(most, movements);
  }
  return most;
}

/// Takes off what links idled while blocks in step wanted others, once these are `apart` for this part of their time.
/// `alone_us`: what blocks would take that have the links for themselves.
void let_drift(Replayed& replayed, double apart, double alone_us) {
  const double busiest_us = replayed.loads.empty() ? 0 : replayed.loads.front().busy * replayed.us;
  const double gained = apart * (replayed.us - std::max(busiest_us, alone_us));
  if (!(gained > 0)) return;
  for (Load& each : replayed.loads) each.busy *= replayed.us / (replayed.us - gained);
  replayed.us -= gained;
  // Of the way to the end, waits for what blocks share are what became shorter.
  double shared = 0, rest = 0;
  for (const Critical& each : replayed.critical) (each.shared ? shared : rest) += each.us;
  const double of_shared = std::min(gained, shared);
  for (Critical& each : replayed.critical)
    each.us *= each.shared ? 1 - of_shared / shared : 1 - (gained - of_shared) / rest;
  std::ranges::stable_sort(replayed.critical, std::greater<>(), &Critical::us);
}

}  // namespace

Result<Replayed> replay(const Recording& recording, const machine::Machine& machine, const Setting& setting) {
  auto fabric = Fabric::create(machine, 1, setting.costs.memory_gbps);
  if (!fabric) return fabric.status();
  const auto placement = Placement::create(recording, *fabric, setting.costs, setting.gpus);
  if (!placement) return placement.status();
  auto replayed = Replay(recording, *fabric, *placement, setting).run();
  const double movements = movements_of(recording);
  if (!replayed || movements <= setting.costs.in_step) return replayed;
  constexpr double kWide = 1e6;  // beyond what any block moves
  Setting without = setting;
  without.timeline = false;
  const auto alone = Replay(recording, *fabric, *placement, without, kWide).run();
  if (!alone) return alone.status();
  let_drift(*replayed, 1 - setting.costs.in_step / movements, alone->us);
  return replayed;
}

}  // namespace sennit::sim
