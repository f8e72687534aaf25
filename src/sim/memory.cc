#include "sim/memory.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "device/packet.h"

namespace sennit::sim {

using device::End;
using device::Step;
using device::Strand;

namespace {

// Of packets, offsets and lengths are those of the message they carry: see Packets.
std::uint64_t room(std::uint64_t bytes) {
  return device::packets_of(bytes) * device::kPacketBytes;
}
std::uint64_t carried(const End& end) {
  return end.offset / 2;
}

}  // namespace

bool Memory::within(const End& end, std::uint64_t bytes, const Stamp& stamp) {
  if (end.region != device::kNowhere && end.offset + bytes <= recording_.regions[end.region].bytes) return true;
  findings_.outside(stamp);
  return false;
}
void Memory::use(const End& end, std::uint64_t bytes, Kind kind, const Stamp& stamp) {
  kinds_[end.region].visit(end.offset, end.offset + bytes, [&](std::uint64_t begin, std::uint64_t, Kind& known) {
    if (known != Kind::unused && known != kind)
      findings_.report(Fault::outside, fmt::format("{} uses byte {} of the region, which is something else elsewhere",
                                                   findings_.place(stamp), begin));
    known = kind;
  });
}

bool Memory::arrived(const End& from, const Step& step) {
  if (from.region == device::kNowhere) return true;  // reported when done
  bool all = true;
  packets_[from.region].visit(carried(from), carried(from) + room(step.bytes),
                              [&](std::uint64_t, std::uint64_t, Packets& cell) { all &= cell.tag == step.value; });
  return all;
}

void Memory::move(const Strand& strand, const Step& step, Mover& mover, const Stamp& stamp) {
  std::vector<std::vector<Piece>> read;
  if (step.sources == 0 && step.bytes != 0) {  // the caller's own
    const End& to = strand.destination(step, 0);
    if (to.region == device::kNowhere) return findings_.outside(stamp);
    read.push_back({{0, step.bytes, forms_.given(to.region).moved(to.offset, 0)}});
  }
  for (unsigned k = 0; k < step.sources; ++k) {
    const End& from = strand.source(step, k);
    if (!within(from, from.packets ? 2 * room(step.bytes) : step.bytes, stamp)) return;
    use(from, from.packets ? 2 * room(step.bytes) : step.bytes, from.packets ? Kind::packets : Kind::bytes, stamp);
    read.push_back(from.packets ? take(from, step, mover, stamp) : load(from, step, mover, stamp));
  }
  const std::vector<Piece> result = reduce(read, step, stamp);
  for (unsigned k = 0; k < step.destinations; ++k) {
    const End& to = strand.destination(step, k);
    if (!within(to, to.packets ? 2 * room(step.bytes) : step.bytes, stamp)) return;
    use(to, to.packets ? 2 * room(step.bytes) : step.bytes, to.packets ? Kind::packets : Kind::bytes, stamp);
    if (to.packets)
      send(to, step, mover, stamp, result);
    else
      store(to, step, mover, stamp, result);
  }
}

std::vector<Memory::Piece> Memory::load(const End& from, const Step& step, Mover& mover, const Stamp& stamp) {
  std::vector<Piece> pieces;
  bytes_[from.region].visit(
      from.offset, from.offset + step.bytes, [&](std::uint64_t begin, std::uint64_t end, Bytes& cell) {
        if (!cell.written.before(mover.clock))
          findings_.report(Fault::race, fmt::format("{} reads what {} may still be writing", findings_.place(stamp),
                                                    findings_.place(cell.written)));
        else if (cell.content.form == 0)
          findings_.report(Fault::unwritten, fmt::format("{} reads {} bytes that nobody has written",
                                                         findings_.place(stamp), end - begin));
        if (together(cell.written, stamp))
          findings_.report(Fault::race, fmt::format("{} reads what {} writes at the same time",
                                                    findings_.place(stamp), findings_.place(cell.written)));
        std::erase_if(cell.read, [&](const Stamp& other) { return other.party == stamp.party; });
        cell.read.push_back(stamp);
        pieces.push_back({begin - from.offset, end - from.offset, cell.content.moved(from.offset, 0)});
      });
  return pieces;
}

void Memory::store(const End& to, const Step& step, Mover& mover, const Stamp& stamp,
                   const std::vector<Piece>& pieces) {
  Cells<Bytes>& cells = bytes_[to.region];
  cells.visit(to.offset, to.offset + step.bytes, [&](std::uint64_t, std::uint64_t, Bytes& cell) {
    if (!cell.written.before(mover.clock))
      findings_.report(Fault::race, fmt::format("{} overwrites what {} may still be writing", findings_.place(stamp),
                                                findings_.place(cell.written)));
    else if (lost(to.region, cell))
      findings_.report(Fault::unread, fmt::format("{} overwrites what {} wrote and nobody read",
                                                  findings_.place(stamp), findings_.place(cell.written)));
    if (together(cell.written, stamp))
      findings_.report(Fault::race, fmt::format("{} writes where {} writes at the same time", findings_.place(stamp),
                                                findings_.place(cell.written)));
    for (const Stamp& reader : cell.read)
      if (together(reader, stamp))
        findings_.report(Fault::race, fmt::format("{} overwrites what {} reads at the same time",
                                                  findings_.place(stamp), findings_.place(reader)));
      else if (!reader.before(mover.clock))
        findings_.report(Fault::race, fmt::format("{} overwrites what {} may still be reading",
                                                  findings_.place(stamp), findings_.place(reader)));
  });
  for (const Piece& piece : pieces)
    cells.set(to.offset + piece.begin, to.offset + piece.end, {piece.content.moved(0, to.offset), stamp, {}});
}

/// Two steps of a group; one step may read what it writes.
bool Memory::together(const Stamp& one, const Stamp& other) const {
  if (one.time == 0 || one.strand != other.strand || one.step == other.step) return false;
  const auto& steps = recording_.strands[one.strand].steps;
  return steps[one.step].group == steps[other.step].group;
}

/// Bytes on their way, which no party has taken.
bool Memory::lost(std::uint32_t region, const Bytes& cell) const {
  return recording_.regions[region].name == "scratch" && cell.written.time != 0 && cell.read.empty();
}

std::vector<Memory::Piece> Memory::take(const End& from, const Step& step, Mover& mover, const Stamp& stamp) {
  std::vector<Piece> pieces;
  packets_[from.region].visit(
      carried(from), carried(from) + room(step.bytes), [&](std::uint64_t begin, std::uint64_t end, Packets& cell) {
        // Nothing but the end of the launch before orders what the sender did.
        join(mover.clock, clocks_at_launch_[cell.launch]);
        const std::uint64_t first = begin - carried(from), last = std::min(end - carried(from), step.bytes);
        if (first < last && cell.content.form == 0)
          findings_.report(Fault::unwritten,
                           fmt::format("{} takes {} bytes that {} did not send", findings_.place(stamp), last - first,
                                       findings_.place(cell.sent)));
        if (first < last) pieces.push_back({first, last, cell.content.moved(carried(from), 0)});
        cell.tag = 0;
        cell.cleared = stamp;
      });
  return pieces;
}

void Memory::send(const End& to, const Step& step, Mover& mover, const Stamp& stamp,
                  const std::vector<Piece>& pieces) {
  Cells<Packets>& cells = packets_[to.region];
  cells.visit(carried(to), carried(to) + room(step.bytes), [&](std::uint64_t, std::uint64_t, Packets& cell) {
    if (cell.tag != 0)
      findings_.report(Fault::unread, fmt::format("{} overwrites packets that {} sent and nobody took",
                                                  findings_.place(stamp), findings_.place(cell.sent)));
    else if (!cell.cleared.before(mover.clock))
      findings_.report(Fault::race, fmt::format("{} overwrites packets that {} may still be clearing",
                                                findings_.place(stamp), findings_.place(cell.cleared)));
  });
  cells.set(carried(to), carried(to) + room(step.bytes), {{}, step.value, stamp, {}, mover.launch});
  for (const Piece& piece : pieces)
    cells.set(carried(to) + piece.begin, carried(to) + piece.end,
              {piece.content.moved(0, carried(to)), step.value, stamp, {}, mover.launch});
}

/// Piece by piece, each of which is one in all sources.
std::vector<Memory::Piece> Memory::reduce(const std::vector<std::vector<Piece>>& sources, const Step& step,
                                          const Stamp& stamp) {
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
          findings_.report(Fault::result,
                           fmt::format("{} takes source {} for {}", findings_.place(stamp), k,
                                       expected == State::given ? "an input, which it is not any more"
                                                                : "part of a reduction, which it is not"));
      }
      result.push_back({at, end, forms_.reduced(contents, step.raw, step.last)});
    }
    at = end;
  }
  return result;
}

void Memory::report_leftovers() {
  for (std::uint32_t region = 0; region < bytes_.size(); ++region) {
    bytes_[region].each([&](std::uint64_t begin, std::uint64_t end, const Bytes& cell) {
      if (lost(region, cell))
        findings_.report(Fault::unread, fmt::format("nobody reads bytes {} to {} of what {} wrote", begin, end,
                                                    findings_.place(cell.written)));
    });
    packets_[region].each([&](std::uint64_t, std::uint64_t, const Packets& cell) {
      if (cell.tag != 0)
        findings_.report(Fault::unread,
                         fmt::format("nobody takes the packets that {} sent", findings_.place(cell.sent)));
    });
  }
}

void Memory::report_results(const Promises& promises) {
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
            findings_.report(
                Fault::result,
                fmt::format("bytes {} to {} of the {} of rank {} hold {}, not {}{}", begin, end,
                            recording_.regions[at.region].name, recording_.regions[at.region].rank,
                            in_words(forms_.terms(cell.content), begin), in_words(expected, begin),
                            cell.written.time != 0 ? "; last written by " + findings_.place(cell.written) : ""));
          if (promise.sources.size() > 1 && forms_.state(cell.content) == State::lifted)
            findings_.report(
                Fault::result,
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
              findings_.report(
                  Fault::result,
                  fmt::format("bytes {} to {} of the result are added in another order on rank {} than on others",
                              from, to, recording_.regions[at.region].rank));
          });
    });
  }
}

std::string Memory::in_words(const std::vector<Term>& terms, std::uint64_t position) const {
  if (terms.empty()) return "nothing";
  std::string text;
  for (const Term& term : terms) {
    const device::Region& region = recording_.regions[term.region];
    text += fmt::format("{}the {} of rank {} from {}", text.empty() ? "" : " + ", region.name, region.rank,
                        static_cast<std::int64_t>(position) + term.shift);
  }
  return text;
}

}  // namespace sennit::sim
