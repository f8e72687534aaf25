#include "sim/timeline.h"

#include <set>

#include <fmt/format.h>

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

Json timeline_of(const device::Recording& recording, const Replayed& replayed) {
  Json events = Json::array();
  const auto label = [&](const char* what, int rank, std::uint32_t strand, const std::string& text) {
    events.push_back({{"name", what}, {"ph", "M"}, {"pid", rank}, {"tid", strand}, {"args", {{"name", text}}}});
  };
  for (int rank = 0; rank < recording.ranks; ++rank) label("process_name", rank, 0, fmt::format("rank {}", rank));
  std::set<std::uint32_t> named;
  for (const Span& span : replayed.timeline) {
    const int rank = recording.strands[span.strand].rank;
    if (named.insert(span.strand).second)
      label("thread_name", rank, span.strand, device::describe(recording, span.strand));
    events.push_back({{"name", name(span.kind)},
                      {"cat", name(span.kind)},
                      {"ph", "X"},
                      {"pid", rank},
                      {"tid", span.strand},
                      {"ts", span.begin_us},
                      {"dur", span.end_us - span.begin_us},
                      {"args", {{"step", device::describe(recording, span.strand, span.step)}}}});
  }
  return {{"traceEvents", std::move(events)}, {"displayTimeUnit", "ns"}};
}

}  // namespace sennit::sim
