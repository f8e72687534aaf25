#include "sim/schedule.h"

#include <fstream>

#include <fmt/format.h>

namespace sennit::sim {

using device::Act;
using device::End;
using device::Launch;
using device::Recording;
using device::Region;
using device::Step;
using device::Strand;

namespace {

constexpr std::string_view kRemedy = "Write the schedule again with this version of sennit";

Status corrupt(std::string where, std::string what) {
  return Status(Code::corrupt, std::move(what), std::move(where), std::string(kRemedy));
}

Status validate_end(const Recording& recording, const End& end, const std::string& where) {
  if (end.region == device::kNowhere || end.region < recording.regions.size()) return {};
  return corrupt(where, fmt::format("there is no region {}", end.region));
}

Status validate_step(const Recording& recording, const Strand& strand, const Step& step, const std::string& where) {
  if (step.act > Act::wait) return corrupt(where, "there is no such act");
  if (std::uint64_t{step.ends} + step.sources + step.destinations > strand.ends.size())
    return corrupt(where, "it has fewer ends than it says");
  const auto needs = [&](unsigned sources, unsigned destinations) {
    return step.sources == sources && step.destinations == destinations;
  };
  switch (step.act) {
    case Act::move:
      if (step.sources + step.destinations == 0) return corrupt(where, "a movement has no ends");
      if (step.bytes != 0 && strand.block >= 0 && (step.sources == 0 || step.destinations == 0))
        return corrupt(where, "a movement of a block needs a source and a destination");
      break;
    case Act::signal:
    case Act::post:
      if (!needs(0, 1)) return corrupt(where, "a signal has one destination");
      break;
    case Act::await:
      if (!needs(1, 0)) return corrupt(where, "who awaits a word has it as the only source");
      break;
    case Act::launch:
      if (step.subject >= recording.launches.size())
        return corrupt(where, fmt::format("there is no launch {}", step.subject));
      break;
    case Act::record:
    case Act::wait: break;
  }
  for (unsigned k = 0; k < step.sources + step.destinations; ++k)
    if (auto status = validate_end(recording, strand.ends[step.ends + k], where); !status) return status;
  return {};
}

}  // namespace

Status validate(const Schedule& schedule) {
  const Recording& recording = schedule.recording;
  if (recording.ranks < 1) return corrupt("ranks", "there are none");
  for (std::size_t i = 0; i < recording.regions.size(); ++i)
    if (const int rank = recording.regions[i].rank; rank < 0 || rank >= recording.ranks)
      return corrupt(fmt::format("regions[{}]", i), fmt::format("there is no rank {}", rank));
  std::vector<char> launched(recording.strands.size(), 0);
  for (std::size_t i = 0; i < recording.launches.size(); ++i) {
    const Launch& launch = recording.launches[i];
    const std::string where = fmt::format("launches[{}]", i);
    if (std::uint64_t{launch.first} + launch.recorded > recording.strands.size() || launch.recorded > launch.blocks)
      return corrupt(where, "its blocks are not there");
    for (std::uint32_t strand = launch.first; strand < launch.first + launch.recorded; ++strand) {
      if (recording.strands[strand].block < 0 || launched[strand] != 0)
        return corrupt(where, fmt::format("strand {} is no block of its own", strand));
      launched[strand] = 1;
    }
  }
  std::vector<char> begun(recording.launches.size(), 0);
  for (std::size_t i = 0; i < recording.strands.size(); ++i) {
    const Strand& strand = recording.strands[i];
    const std::string where = fmt::format("strands[{}]", i);
    if (strand.rank < 0 || strand.rank >= recording.ranks)
      return corrupt(where, fmt::format("there is no rank {}", strand.rank));
    if (strand.lane >= recording.strands.size() || recording.strands[strand.lane].block >= 0)
      return corrupt(where, fmt::format("strand {} is no lane", strand.lane));
    if (strand.block >= 0 && launched[i] == 0) return corrupt(where, "no launch has this block");
    for (std::size_t s = 0; s < strand.steps.size(); ++s) {
      const Step& step = strand.steps[s];
      const std::string at = fmt::format("{}.steps[{}]", where, s);
      if (auto status = validate_step(recording, strand, step, at); !status) return status;
      if (step.act != Act::launch) continue;
      if (strand.block >= 0) return corrupt(at, "a block launches nothing");
      if (begun[step.subject] != 0) return corrupt(at, fmt::format("launch {} was begun before", step.subject));
      begun[step.subject] = 1;
    }
  }
  for (std::size_t i = 0; i < schedule.promises.size(); ++i) {
    const Promise& promise = schedule.promises[i];
    const std::string where = fmt::format("promises[{}]", i);
    if (promise.result.region >= recording.regions.size()) return corrupt(where, "it is of no region");
    for (const End& source : promise.sources)
      if (source.region >= recording.regions.size()) return corrupt(where, "a source is of no region");
  }
  return {};
}

Status write_schedule(const std::filesystem::path& file, const Schedule& schedule) {
  std::ofstream out(file, std::ios::binary);
  if (file.extension() == ".json")
    out << to_json(schedule).dump(1) << '\n';
  else
    out << to_binary(schedule);
  if (out.flush()) return {};
  return Status(Code::invalid_argument, "cannot write " + file.string(), {},
                "Name a file in a folder you may write to");
}

Result<Schedule> read_schedule(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in)
    return Status(Code::not_found, "cannot read " + file.string(), {},
                  "Name a schedule that `sennit sim --schedule` wrote");
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  if (!text.starts_with('{')) return schedule_of(std::string_view(text));
  auto document = parse_json(text, file.string());
  if (!document) return document.status();
  return schedule_of(*document);
}

}  // namespace sennit::sim
