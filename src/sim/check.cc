#include "sim/check.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "device/block.h"
#include "device/packet.h"
#include "sim/cells.h"
#include "sim/content.h"

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

/// How far each party has got, as far as its owner knows.
using Clock = std::vector<std::uint32_t>;

void join(Clock& mine, const Clock& other) {
  if (mine.size() < other.size()) mine.resize(other.size());
  for (std::size_t i = 0; i < other.size(); ++i) mine[i] = std::max(mine[i], other[i]);
}

/// A step that was done.
struct Stamp {
  std::uint32_t party = 0, time = 0;  // time 0: never
  std::uint32_t strand = 0, step = 0;

  bool before(const Clock& clock) const { return time == 0 || (party < clock.size() && clock[party] >= time); }
};

/// What is known of bytes.
struct Bytes {
  Content content;
  Stamp written;
  std::vector<Stamp> read;  // since, by each party the latest
};

/// What is known of packets, in bytes of the message: a packet of 16 bytes carries 8.
struct Packets {
  Content content;
  device::Word tag = 0;  // 0: cleared
  Stamp sent, cleared;
  std::uint32_t launch = 0;  // whose clock goes with them: clocks_at_launch
};

/// What a place in memory is used for. One at a time: words that data comes to lie on are a mistake of the layout.
enum class Kind : std::uint8_t { unused, bytes, packets, word };

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
  Checker(const Recording& recording, std::size_t most) : recording_(recording), most_(most) {}

  std::vector<Finding> run(const Promises& promises) {
    begin();
    while (advance_all()) continue;
    report_deadlock();
    if (findings_.empty()) report_leftovers();
    if (findings_.empty()) report_results(promises);
    return std::move(findings_);
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
    bytes_.resize(recording_.regions.size());
    packets_.resize(recording_.regions.size());
    kinds_.resize(recording_.regions.size());
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

  bool full() const { return findings_.size() >= most_; }
  void report(Fault fault, std::string what) {
    if (!full()) findings_.push_back({fault, std::move(what)});
  }

  bool advance_all() {
    bool advanced = false;
    for (std::uint32_t i = 0; i < progress_.size(); ++i)
      while (!full() && progress_[i].begun && progress_[i].next < recording_.strands[i].steps.size() && advance(i))
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
          if (const End& from = strand.source(step, k); from.packets && !arrived(from, step)) return false;
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
      case Act::move: return move(strand, step, progress, stamp);
      case Act::signal:
      case Act::post: {
        const End& word = strand.destination(step, 0);
        if (!within(word, sizeof(device::Word), stamp)) return;
        use(word, sizeof(device::Word), Kind::word, stamp);
        Signalled& signalled = words_[{word.region, word.offset}];
        if (signalled.values.empty()) {
          signalled.first = stamp;
        } else {
          // Who waits sees any value that comes; so they come in order, and only grow.
          if (!signalled.latest.before(progress.clock))
            report(Fault::race,
                   fmt::format("{} signals a word while {} may be doing so", place(stamp), place(signalled.latest)));
          if (!device::reached(step.value, signalled.values.back().value))
            report(Fault::race,
                   fmt::format("{} takes back what {} has signalled", place(stamp), place(signalled.latest)));
        }
        signalled.latest = stamp;
        Value value{step.value, std::nullopt};
        if (step.act == Act::signal) value.clock = progress.clock;
        signalled.values.push_back(std::move(value));
        return;
      }
      case Act::await: {
        const End& word = strand.source(step, 0);
        if (word.region == device::kNowhere) return outside(stamp);
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

  void outside(const Stamp& stamp) {
    report(Fault::outside, fmt::format("{} is in no region", device::describe(recording_, stamp.strand, stamp.step)));
  }
  bool within(const End& end, std::uint64_t bytes, const Stamp& stamp) {
    if (end.region != device::kNowhere && end.offset + bytes <= recording_.regions[end.region].bytes) return true;
    outside(stamp);
    return false;
  }
  void use(const End& end, std::uint64_t bytes, Kind kind, const Stamp& stamp) {
    kinds_[end.region].visit(end.offset, end.offset + bytes, [&](std::uint64_t begin, std::uint64_t, Kind& known) {
      if (known != Kind::unused && known != kind)
        report(Fault::outside,
               fmt::format("{} uses byte {} of the region, which is something else elsewhere", place(stamp), begin));
      known = kind;
    });
  }
  std::string place(const Stamp& stamp) const { return device::describe(recording_, stamp.strand, stamp.step); }

  // Of packets, offsets and lengths are those of the message they carry: see Packets.
  static std::uint64_t room(std::uint64_t bytes) { return device::packets_of(bytes) * device::kPacketBytes; }
  static std::uint64_t carried(const End& end) { return end.offset / 2; }

  bool arrived(const End& from, const Step& step) {
    if (from.region == device::kNowhere) return true;  // reported when done
    bool all = true;
    packets_[from.region].visit(carried(from), carried(from) + room(step.bytes),
                                [&](std::uint64_t, std::uint64_t, Packets& cell) { all &= cell.tag == step.value; });
    return all;
  }

  /// A piece of a message, by where it lies in it.
  struct Piece {
    std::uint64_t begin, end;
    Content content;  // as if the message lay at 0
  };

  void move(const Strand& strand, const Step& step, Progress& progress, const Stamp& stamp) {
    std::vector<std::vector<Piece>> read;
    if (step.sources == 0 && step.bytes != 0) {  // the caller's own
      const End& to = strand.destination(step, 0);
      if (to.region == device::kNowhere) return outside(stamp);
      read.push_back({{0, step.bytes, forms_.given(to.region).moved(to.offset, 0)}});
    }
    for (unsigned k = 0; k < step.sources; ++k) {
      const End& from = strand.source(step, k);
      if (!within(from, from.packets ? 2 * room(step.bytes) : step.bytes, stamp)) return;
      use(from, from.packets ? 2 * room(step.bytes) : step.bytes, from.packets ? Kind::packets : Kind::bytes, stamp);
      read.push_back(from.packets ? take(from, step, progress, stamp) : load(from, step, progress, stamp));
    }
    const std::vector<Piece> result = reduce(read, step, stamp);
    for (unsigned k = 0; k < step.destinations; ++k) {
      const End& to = strand.destination(step, k);
      if (!within(to, to.packets ? 2 * room(step.bytes) : step.bytes, stamp)) return;
      use(to, to.packets ? 2 * room(step.bytes) : step.bytes, to.packets ? Kind::packets : Kind::bytes, stamp);
      if (to.packets)
        send(to, step, progress, stamp, result);
      else
        store(to, step, progress, stamp, result);
    }
  }

  std::vector<Piece> load(const End& from, const Step& step, Progress& progress, const Stamp& stamp) {
    std::vector<Piece> pieces;
    bytes_[from.region].visit(
        from.offset, from.offset + step.bytes, [&](std::uint64_t begin, std::uint64_t end, Bytes& cell) {
          if (!cell.written.before(progress.clock))
            report(Fault::race,
                   fmt::format("{} reads what {} may still be writing", place(stamp), place(cell.written)));
          else if (cell.content.form == 0)
            report(Fault::unwritten,
                   fmt::format("{} reads {} bytes that nobody has written", place(stamp), end - begin));
          if (together(cell.written, stamp))
            report(Fault::race,
                   fmt::format("{} reads what {} writes at the same time", place(stamp), place(cell.written)));
          std::erase_if(cell.read, [&](const Stamp& other) { return other.party == stamp.party; });
          cell.read.push_back(stamp);
          pieces.push_back({begin - from.offset, end - from.offset, cell.content.moved(from.offset, 0)});
        });
    return pieces;
  }

  void store(const End& to, const Step& step, Progress& progress, const Stamp& stamp,
             const std::vector<Piece>& pieces) {
    Cells<Bytes>& cells = bytes_[to.region];
    cells.visit(to.offset, to.offset + step.bytes, [&](std::uint64_t, std::uint64_t, Bytes& cell) {
      if (!cell.written.before(progress.clock))
        report(Fault::race,
               fmt::format("{} overwrites what {} may still be writing", place(stamp), place(cell.written)));
      else if (lost(to.region, cell))
        report(Fault::unread,
               fmt::format("{} overwrites what {} wrote and nobody read", place(stamp), place(cell.written)));
      if (together(cell.written, stamp))
        report(Fault::race,
               fmt::format("{} writes where {} writes at the same time", place(stamp), place(cell.written)));
      for (const Stamp& reader : cell.read)
        if (together(reader, stamp))
          report(Fault::race,
                 fmt::format("{} overwrites what {} reads at the same time", place(stamp), place(reader)));
        else if (!reader.before(progress.clock))
          report(Fault::race, fmt::format("{} overwrites what {} may still be reading", place(stamp), place(reader)));
    });
    for (const Piece& piece : pieces)
      cells.set(to.offset + piece.begin, to.offset + piece.end, {piece.content.moved(0, to.offset), stamp, {}});
  }

  /// Two steps of a group; one step may read what it writes.
  bool together(const Stamp& one, const Stamp& other) const {
    if (one.time == 0 || one.strand != other.strand || one.step == other.step) return false;
    const auto& steps = recording_.strands[one.strand].steps;
    return steps[one.step].group == steps[other.step].group;
  }

  /// Bytes on their way, which nobody has taken.
  bool lost(std::uint32_t region, const Bytes& cell) const {
    return recording_.regions[region].name == "scratch" && cell.written.time != 0 && cell.read.empty();
  }

  std::vector<Piece> take(const End& from, const Step& step, Progress& progress, const Stamp& stamp) {
    std::vector<Piece> pieces;
    packets_[from.region].visit(
        carried(from), carried(from) + room(step.bytes), [&](std::uint64_t begin, std::uint64_t end, Packets& cell) {
          // Nothing but the end of the launch before orders what the sender did.
          join(progress.clock, clocks_at_launch_[cell.launch]);
          const std::uint64_t first = begin - carried(from), last = std::min(end - carried(from), step.bytes);
          if (first < last && cell.content.form == 0)
            report(Fault::unwritten, fmt::format("{} takes {} bytes that {} did not send", place(stamp), last - first,
                                                 place(cell.sent)));
          if (first < last) pieces.push_back({first, last, cell.content.moved(carried(from), 0)});
          cell.tag = 0;
          cell.cleared = stamp;
        });
    return pieces;
  }

  void send(const End& to, const Step& step, Progress& progress, const Stamp& stamp,
            const std::vector<Piece>& pieces) {
    Cells<Packets>& cells = packets_[to.region];
    cells.visit(carried(to), carried(to) + room(step.bytes), [&](std::uint64_t, std::uint64_t, Packets& cell) {
      if (cell.tag != 0)
        report(Fault::unread,
               fmt::format("{} overwrites packets that {} sent and nobody took", place(stamp), place(cell.sent)));
      else if (!cell.cleared.before(progress.clock))
        report(Fault::race,
               fmt::format("{} overwrites packets that {} may still be clearing", place(stamp), place(cell.cleared)));
    });
    cells.set(carried(to), carried(to) + room(step.bytes), {{}, step.value, stamp, {}, progress.launch});
    for (const Piece& piece : pieces)
      cells.set(carried(to) + piece.begin, carried(to) + piece.end,
                {piece.content.moved(0, carried(to)), step.value, stamp, {}, progress.launch});
  }

  /// Piece by piece, each of which is one in all sources.
  std::vector<Piece> reduce(const std::vector<std::vector<Piece>>& sources, const Step& step, const Stamp& stamp) {
    if (sources.size() == 1 && !step.reduces) return sources.front();
    const std::uint64_t bytes = sources.empty() ? 0 : step.bytes;
    std::vector<Piece> result;  // empty where there is nothing to move
    std::vector<std::size_t> next(sources.size());
    for (std::uint64_t at = 0; at < bytes;) {
      std::uint64_t end = bytes;
      std::vector<Content> contents;
      for (std::size_t k = 0; k < sources.size(); ++k) {
        while (sources[k][next[k]].end <= at) ++next[k];
        end = std::min(end, sources[k][next[k]].end);
        contents.push_back(sources[k][next[k]].content);
      }
      if (!step.reduces) {  // made by hand: no rule is known
        result.push_back({at, end, forms_.reduced(contents, 0, true)});
      } else {
        for (std::size_t k = 0; k < contents.size(); ++k) {
          const State expected = (step.raw >> k & 1) != 0 ? State::given : State::lifted;
          if (contents[k].form != 0 && forms_.state(contents[k]) != expected)
            report(Fault::result, fmt::format("{} takes source {} for {}", place(stamp), k,
                                              expected == State::given ? "an input, which it is not any more"
                                                                       : "part of a reduction, which it is not"));
        }
        result.push_back({at, end, forms_.reduced(contents, step.raw, step.last)});
      }
      at = end;
    }
    return result;
  }

  void report_deadlock() {
    if (full()) return;
    for (std::uint32_t i = 0; i < progress_.size(); ++i) {
      const Strand& strand = recording_.strands[i];
      const Progress& progress = progress_[i];
      if (!progress.begun || progress.next == strand.steps.size()) continue;
      // Of a group all that hold it up.
      for (std::size_t s = progress.next; s < strand.end_of_group(progress.next); ++s)
        if (strand.steps[s].act != Act::launch && !ready(i, strand.steps[s]))
          report(Fault::deadlock, fmt::format("{} waits for ever{}", device::describe(recording_, i, s),
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
    for (std::uint32_t region = 0; region < bytes_.size(); ++region) {
      bytes_[region].each([&](std::uint64_t begin, std::uint64_t end, const Bytes& cell) {
        if (lost(region, cell))
          report(Fault::unread,
                 fmt::format("nobody reads bytes {} to {} of what {} wrote", begin, end, place(cell.written)));
      });
      packets_[region].each([&](std::uint64_t, std::uint64_t, const Packets& cell) {
        if (cell.tag != 0)
          report(Fault::unread, fmt::format("nobody takes the packets that {} sent", place(cell.sent)));
      });
    }
    for (const auto& [word, signalled] : words_)
      if (!signalled.values.empty() && !signalled.awaited)
        report(Fault::unawaited, fmt::format("nobody waits for what {} says", place(signalled.first)));
  }

  void report_results(const Promises& promises) {
    std::map<int, Cells<std::uint32_t>> references;  // forms of the results so far
    for (const Promise& promise : promises) {
      std::vector<Term> expected;
      for (const End& source : promise.sources)
        expected.push_back({source.region, static_cast<std::int64_t>(source.offset) -
                                               static_cast<std::int64_t>(promise.result.offset)});
      std::sort(expected.begin(), expected.end());
      Cells<std::uint32_t> forms;
      const End& at = promise.result;
      bytes_[at.region].visit(
          at.offset, at.offset + promise.bytes, [&](std::uint64_t begin, std::uint64_t end, Bytes& cell) {
            if (forms_.terms(cell.content) != expected)
              report(Fault::result,
                     fmt::format("bytes {} to {} of the {} of rank {} hold {}, not {}{}", begin, end,
                                 recording_.regions[at.region].name, recording_.regions[at.region].rank,
                                 in_words(forms_.terms(cell.content), begin), in_words(expected, begin),
                                 cell.written.time != 0 ? "; last written by " + place(cell.written) : ""));
            if (promise.sources.size() > 1 && forms_.state(cell.content) == State::lifted)
              report(Fault::result,
                     fmt::format("bytes {} to {} of the {} of rank {} are reduced, but not as a result", begin, end,
                                 recording_.regions[at.region].name, recording_.regions[at.region].rank));
            forms.set(begin - at.offset, end - at.offset, cell.content.form);
          });
      if (promise.same_bits < 0) continue;
      forms.each([&](std::uint64_t begin, std::uint64_t end, std::uint32_t form) {
        references[promise.same_bits].visit(
            begin, end, [&](std::uint64_t from, std::uint64_t to, std::uint32_t& known) {
              if (known == 0) known = form;
              if (known != form)
                report(
                    Fault::result,
                    fmt::format("bytes {} to {} of the result are added in another order on rank {} than on others",
                                from, to, recording_.regions[at.region].rank));
            });
      });
    }
  }

  std::string in_words(const std::vector<Term>& terms, std::uint64_t position) const {
    if (terms.empty()) return "nothing";
    std::string text;
    for (const Term& term : terms) {
      const device::Region& region = recording_.regions[term.region];
      text += fmt::format("{}the {} of rank {} from {}", text.empty() ? "" : " + ", region.name, region.rank,
                          static_cast<std::int64_t>(position) + term.shift);
    }
    return text;
  }

  const Recording& recording_;
  const std::size_t most_;
  std::vector<Finding> findings_;
  Forms forms_;
  std::vector<Progress> progress_;  // by strand
  std::vector<Clock> clocks_at_launch_;
  std::vector<Cells<Bytes>> bytes_;  // by region
  std::vector<Cells<Packets>> packets_;
  std::vector<Cells<Kind>> kinds_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, Signalled> words_;
  std::map<std::pair<std::uint32_t, device::Word>, std::optional<Clock>> events_;
};

}  // namespace

std::vector<Finding> check(const Recording& recording, const Promises& promises, std::size_t most) {
  return Checker(recording, most).run(promises);
}

}  // namespace sennit::sim
