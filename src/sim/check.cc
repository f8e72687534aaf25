#include "sim/check.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "device/block.h"
#include "sim/clock.h"
#include "sim/memory.h"

namespace sennit::sim {

using device::Act;
using device::End;
using device::Recording;
using device::Step;
using device::Strand;

std::string_view name(Fault fault) {
  switch (fault) {
    case Fault::deadlock: return "deadlock";
    case Fault::race: return "race";
    case Fault::unwritten: return "unwritten";
    case Fault::unread: return "unread";
    case Fault::unawaited: return "unawaited";
    case Fault::outside: return "outside";
    case Fault::result: return "result";
  }
  return "?";
}

namespace {

/// One value that a word has had. No clock: it was posted.
struct Value {
  device::Word value;
  std::optional<Clock> clock;
};

struct Signalled {
  std::vector<Value> values;
  bool awaited = false;
  Stamp first, latest;
};

class Checker {
 public:
  Checker(const Recording& recording, std::size_t most)
      : recording_(recording), findings_(recording, most), memory_(recording, clocks_at_launch_, findings_) {}

  std::vector<Finding> run(const Promises& promises) {
    begin();
    while (advance_all()) continue;
    report_deadlock();
    if (findings_.none()) report_leftovers();
    if (findings_.none()) memory_.report_results(promises);
    return findings_.take();
  }

 private:
  struct Progress {
    bool begun = false;
    std::size_t next = 0;
    std::uint32_t party = 0;
    Clock clock;
    std::uint32_t launch = 0;  // index into clocks_at_launch_
    bool launched = false;     // of a lane: the launch it stands at has begun
  };

  void begin() {
    progress_.resize(recording_.strands.size());
    std::map<std::pair<std::uint32_t, int>, std::uint32_t> parties;
    for (std::size_t i = 0; i < recording_.strands.size(); ++i) {
      const Strand& strand = recording_.strands[i];
      // A block of one number takes up where the one of the launch before has left off.
      const auto next = static_cast<std::uint32_t>(parties.size());
      progress_[i].party = parties.emplace(std::pair(strand.lane, strand.block), next).first->second;
      progress_[i].begun = strand.block < 0;
    }
    for (Progress& each : progress_) each.clock.resize(parties.size());
  }

  bool advance_all() {
    bool advanced = false;
    for (std::uint32_t i = 0; i < progress_.size(); ++i)
      while (!findings_.full() && progress_[i].begun && progress_[i].next < recording_.strands[i].steps.size() &&
             advance(i))
        advanced = true;
    return advanced;
  }

  /// Does all steps of a group, or, where one has to wait, none.
  bool advance(std::uint32_t index) {
    const Strand& strand = recording_.strands[index];
    Progress& progress = progress_[index];
    const std::size_t first = progress.next;
    const std::size_t end = strand.end_of_group(first);
    for (std::size_t i = first; i < end; ++i)
      if (!ready(index, strand.steps[i])) return false;
    ++progress.clock[progress.party];
    for (std::size_t i = first; i < end; ++i) perform(index, i);
    progress.next = end;
    return true;
  }

  bool ready(std::uint32_t index, const Step& step) {
    const Strand& strand = recording_.strands[index];
    switch (step.act) {
      case Act::await: {
        const End& word = strand.source(step, 0);
        Signalled& signalled = words_[{word.region, word.offset}];
        signalled.awaited = true;
        return device::reached(0, step.value) || first_of(signalled, step.value) != nullptr;
      }
      case Act::wait: return events_[{step.subject, step.value}].has_value();
      case Act::launch: return launched(index, recording_.launches[step.subject]);
      case Act::move:
        for (unsigned k = 0; k < step.sources; ++k)
          if (const End& from = strand.source(step, k); from.packets && !memory_.arrived(from, step)) return false;
        return true;
      default: return true;
    }
  }

  static const Value* first_of(const Signalled& signalled, device::Word value) {
    for (const Value& each : signalled.values)
      if (device::reached(each.value, value)) return &each;
    return nullptr;
  }

  /// Begins the launch; true once all its blocks have ended.
  bool launched(std::uint32_t index, const device::Launch& launch) {
    Progress& lane = progress_[index];
    if (!lane.launched) {
      lane.launched = true;
      clocks_at_launch_.push_back(lane.clock);
      for (std::uint32_t i = launch.first; i < launch.first + launch.recorded; ++i) {
        progress_[i].begun = true;
        progress_[i].launch = static_cast<std::uint32_t>(clocks_at_launch_.size() - 1);
        join(progress_[i].clock, lane.clock);
      }
    }
    for (std::uint32_t i = launch.first; i < launch.first + launch.recorded; ++i)
      if (progress_[i].next < recording_.strands[i].steps.size()) return false;
    return true;
  }

  void perform(std::uint32_t index, std::size_t at) {
    const Strand& strand = recording_.strands[index];
    const Step& step = strand.steps[at];
    Progress& progress = progress_[index];
    const Stamp stamp{progress.party, progress.clock[progress.party], index, static_cast<std::uint32_t>(at)};
    switch (step.act) {
      case Act::move: {
        Mover mover{progress.clock, progress.launch};
        return memory_.move(strand, step, mover, stamp);
      }
      case Act::signal:
      case Act::post: {
        const End& word = strand.destination(step, 0);
        if (!memory_.within(word, sizeof(device::Word), stamp)) return;
        memory_.use(word, sizeof(device::Word), Kind::word, stamp);
        Signalled& signalled = words_[{word.region, word.offset}];
        if (signalled.values.empty()) {
          signalled.first = stamp;
        } else {
          // Who waits sees any value that comes; so they come in order, and only grow.
          if (!signalled.latest.before(progress.clock))
            findings_.report(Fault::race, fmt::format("{} signals a word while {} may be doing so",
                                                      findings_.place(stamp), findings_.place(signalled.latest)));
          if (!device::reached(step.value, signalled.values.back().value))
            findings_.report(Fault::race, fmt::format("{} takes back what {} has signalled", findings_.place(stamp),
                                                      findings_.place(signalled.latest)));
        }
        signalled.latest = stamp;
        Value value{step.value, std::nullopt};
        if (step.act == Act::signal) value.clock = progress.clock;
        signalled.values.push_back(std::move(value));
        return;
      }
      case Act::await: {
        const End& word = strand.source(step, 0);
        if (word.region == device::kNowhere) return findings_.outside(stamp);
        if (device::reached(0, step.value)) return;
        if (const Value* value = first_of(words_[{word.region, word.offset}], step.value); value->clock)
          join(progress.clock, *value->clock);
        return;
      }
      case Act::launch: {
        const device::Launch& launch = recording_.launches[step.subject];
        for (std::uint32_t i = launch.first; i < launch.first + launch.recorded; ++i)
          join(progress.clock, progress_[i].clock);
        progress.launched = false;
        return;
      }
      case Act::record: events_[{step.subject, step.value}] = progress.clock; return;
      case Act::wait: join(progress.clock, *events_[{step.subject, step.value}]); return;
    }
  }

  void report_deadlock() {
    if (findings_.full()) return;
    for (std::uint32_t i = 0; i < progress_.size(); ++i) {
      const Strand& strand = recording_.strands[i];
      const Progress& progress = progress_[i];
      if (!progress.begun || progress.next == strand.steps.size()) continue;
      // Of a group all that hold it up.
      for (std::size_t s = progress.next; s < strand.end_of_group(progress.next); ++s)
        if (strand.steps[s].act != Act::launch && !ready(i, strand.steps[s]))
          findings_.report(Fault::deadlock, fmt::format("{} waits for ever{}", device::describe(recording_, i, s),
                                                        latest(strand, strand.steps[s])));
    }
  }

  std::string latest(const Strand& strand, const Step& step) {
    if (step.act != Act::await) return {};
    const End& word = strand.source(step, 0);
    const Signalled& signalled = words_[{word.region, word.offset}];
    if (signalled.values.empty()) return ": nobody signals that word";
    return fmt::format(": the last signal is {}", signalled.values.back().value);
  }

  void report_leftovers() {
    memory_.report_leftovers();
    for (const auto& [word, signalled] : words_)
      if (!signalled.values.empty() && !signalled.awaited)
        findings_.report(Fault::unawaited,
                         fmt::format("nobody waits for what {} says", findings_.place(signalled.first)));
  }

  const Recording& recording_;
  Findings findings_;
  std::vector<Clock> clocks_at_launch_;
  Memory memory_;
  std::vector<Progress> progress_;  // by strand
  std::map<std::pair<std::uint32_t, std::uint64_t>, Signalled> words_;
  std::map<std::pair<std::uint32_t, device::Word>, std::optional<Clock>> events_;
};

}  // namespace

std::vector<Finding> check(const Recording& recording, const Promises& promises, std::size_t most) {
  return Checker(recording, most).run(promises);
}

}  // namespace sennit::sim
