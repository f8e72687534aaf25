#include "device/trace/recording.h"

#include <fmt/format.h>

namespace sennit::device {

namespace {

std::string_view name(Act act) {
  switch (act) {
    case Act::move: return "move";
    case Act::signal: return "signal";
    case Act::post: return "post";
    case Act::await: return "await";
    case Act::launch: return "launch";
    case Act::record: return "record";
    case Act::wait: return "wait";
  }
  return "?";
}

}  // namespace

std::string describe(const Recording& recording, std::uint32_t strand) {
  const Strand& which = recording.strands[strand];
  if (which.block < 0) return fmt::format("rank {}, lane {}", which.rank, strand);
  for (const Launch& launch : recording.launches)
    if (strand >= launch.first && strand < launch.first + launch.recorded)
      return fmt::format("rank {}, {} block {}", which.rank, launch.program, which.block);
  return fmt::format("rank {}, block {}", which.rank, which.block);
}

std::string describe(const Recording& recording, const End& end) {
  if (end.region >= recording.regions.size()) return fmt::format("memory of no rank at {:#x}", end.offset);
  const Region& region = recording.regions[end.region];
  return fmt::format("{}{} of rank {} at {}", end.packets ? "packets in " : "", region.name, region.rank, end.offset);
}

std::string describe(const Recording& recording, std::uint32_t strand, std::size_t step) {
  const Strand& which = recording.strands[strand];
  const Step& what = which.steps[step];
  std::string text(name(what.act));
  if (what.act == Act::move) text += fmt::format(" of {} bytes", what.bytes);
  if (what.act == Act::launch) text += " of " + recording.launches[what.subject].program;
  if (what.act == Act::record || what.act == Act::wait) text += fmt::format(" of event {}", what.subject);
  if (what.act != Act::move && what.act != Act::launch) text += fmt::format(" for {}", what.value);
  for (unsigned k = 0; k < what.sources; ++k)
    text += (k == 0 ? " from " : ", ") + describe(recording, which.source(what, k));
  for (unsigned k = 0; k < what.destinations; ++k)
    text += (k == 0 ? " to " : ", ") + describe(recording, which.destination(what, k));
  return fmt::format("step {} of {} ({})", step, describe(recording, strand), text);
}

}  // namespace sennit::device
