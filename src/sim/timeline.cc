#include "sim/timeline.h"

#include <set>

#include <fmt/format.h>

#include "base/trace_events.h"

namespace sennit::sim {

namespace {

std::string_view name(Span::Kind kind) {
  switch (kind) {
    case Span::Kind::move: return "move";
    case Span::Kind::wait: return "wait";
    case Span::Kind::launch: return "launch";
    case Span::Kind::engine: return "copy";
  }
  return "?";
}

}  // namespace

void write_timeline(std::ostream& out, const device::Recording& recording, const Replayed& replayed) {
  TraceWriter trace(out, TraceWriter::format_of(replayed.timeline.size()));
  for (int rank = 0; rank < recording.ranks; ++rank)
    trace.name_process(static_cast<std::uint32_t>(rank), fmt::format("rank {}", rank));
  std::set<std::uint32_t> named;
  for (const Span& span : replayed.timeline) {
    const auto rank = static_cast<std::uint32_t>(recording.strands[span.strand].rank);
    if (named.insert(span.strand).second)
      trace.name_thread(rank, span.strand, device::describe(recording, span.strand));
    const std::pair<std::string_view, std::string> step{"step", device::describe(recording, span.strand, span.step)};
    trace.add({.process = rank,
               .thread = span.strand,
               .name = name(span.kind),
               .category = name(span.kind),
               .begin_us = span.begin_us,
               .length_us = span.end_us - span.begin_us,
               .arguments = std::span(&step, 1)});
  }
}

}  // namespace sennit::sim
