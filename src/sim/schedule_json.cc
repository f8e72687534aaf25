// Writes a schedule as JSON: an object a step, its ends as [region, offset], with a third member where they are
// packets.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "sim/schedule.h"

namespace sennit::sim {

using device::Act;
using device::End;
using device::Launch;
using device::Region;
using device::Step;
using device::Strand;

namespace {

constexpr std::array<std::string_view, 7> kActs = {"move", "signal", "post", "await", "launch", "record", "wait"};

Json json_of(const End& end) {
  Json json = Json::array({end.region == device::kNowhere ? Json() : Json(end.region), end.offset});
  if (end.packets) json.push_back("packets");
  return json;
}
End end_of(const Json& json) {
  End end;
  end.region = json.at(0).is_null() ? device::kNowhere : json.at(0).get<std::uint32_t>();
  end.offset = json.at(1).get<std::uint64_t>();
  end.packets = json.size() > 2 && json.at(2) == "packets";
  return end;
}

Json json_of(const Strand& strand, const Step& step) {
  Json json = {{"act", kActs[static_cast<std::size_t>(step.act)]}, {"group", step.group}};
  if (step.act == Act::move) json["bytes"] = step.bytes;
  if (step.value != 0) json["value"] = step.value;
  if (step.reduces) json["reduces"] = {{"raw", step.raw}, {"last", step.last}};
  if (step.wait_id != 0) json["wait_id"] = step.wait_id;
  if (step.peer >= 0) json["peer"] = step.peer;
  if (step.act >= Act::launch) json["subject"] = step.subject;
  for (unsigned k = 0; k < step.sources; ++k) json["from"].push_back(json_of(strand.source(step, k)));
  for (unsigned k = 0; k < step.destinations; ++k) json["to"].push_back(json_of(strand.destination(step, k)));
  return json;
}

void read_step(const Json& json, Strand& strand) {
  Step step;
  // One that is unknown lies beyond all: validate() names it.
  step.act = static_cast<Act>(std::ranges::find(kActs, json.at("act").get<std::string>()) - kActs.begin());
  step.group = json.at("group").get<std::uint32_t>();
  step.bytes = json.value("bytes", std::uint64_t{0});
  step.value = json.value("value", device::Word{0});
  step.wait_id = json.value("wait_id", device::Word{0});
  step.peer = json.value("peer", -1);
  step.subject = json.value("subject", std::uint32_t{0});
  if (json.contains("reduces")) {
    step.reduces = true;
    step.raw = json.at("reduces").at("raw").get<std::uint8_t>();
    step.last = json.at("reduces").at("last").get<bool>();
  }
  step.ends = static_cast<std::uint32_t>(strand.ends.size());
  if (json.contains("from"))
    for (const Json& end : json.at("from")) strand.ends.push_back(end_of(end)), ++step.sources;
  if (json.contains("to"))
    for (const Json& end : json.at("to")) strand.ends.push_back(end_of(end)), ++step.destinations;
  strand.steps.push_back(step);
}

/// What goes wrong in an element of an array, with its place: the library throws.
template <class Read>
Status each(const Json& document, const char* key, Read read) {
  std::size_t index = 0;
  try {
    for (const Json& element : document.at(key)) read(element), ++index;
  } catch (const Json::exception& error) {
    return Status(Code::corrupt, error.what(), fmt::format("{}[{}]", key, index),
                  "Write the schedule again with this version of sennit");
  }
  return {};
}

}  // namespace

Json to_json(const Schedule& schedule) {
  Json regions = Json::array(), launches = Json::array(), strands = Json::array(), promises = Json::array();
  for (const Region& each : schedule.recording.regions)
    regions.push_back({{"rank", each.rank}, {"name", each.name}, {"bytes", each.bytes}});
  for (const Launch& each : schedule.recording.launches)
    launches.push_back({{"program", each.program},
                        {"first", each.first},
                        {"recorded", each.recorded},
                        {"blocks", each.blocks},
                        {"threads", each.threads},
                        {"early", each.early},
                        {"fold", each.fold}});
  for (const Strand& each : schedule.recording.strands) {
    Json steps = Json::array();
    for (const Step& step : each.steps) steps.push_back(json_of(each, step));
    strands.push_back({{"rank", each.rank}, {"lane", each.lane}, {"block", each.block}, {"steps", std::move(steps)}});
  }
  for (const Promise& each : schedule.promises) {
    Json sources = Json::array();
    for (const End& source : each.sources) sources.push_back(json_of(source));
    promises.push_back({{"result", json_of(each.result)},
                        {"bytes", each.bytes},
                        {"sources", std::move(sources)},
                        {"same_bits", each.same_bits}});
  }
  return {{"version", kScheduleVersion},       {"kind", "schedule"},
          {"ranks", schedule.recording.ranks}, {"regions", std::move(regions)},
          {"launches", std::move(launches)},   {"strands", std::move(strands)},
          {"promises", std::move(promises)}};
}

Result<Schedule> schedule_of(const Json& document) {
  if (!document.is_object() || document.value("kind", "") != "schedule")
    return Status(Code::invalid_argument, "this is no schedule", {}, "Name one that `sennit sim --schedule` wrote");
  if (const Json version = document.value("version", Json()); version != kScheduleVersion)
    return Status(Code::invalid_argument,
                  fmt::format("a schedule of version {}, where {} is read", version.dump(), kScheduleVersion), {},
                  "Write it again with this version of sennit");
  Schedule schedule;
  device::Recording& recording = schedule.recording;
  const Json ranks = document.value("ranks", Json());
  if (ranks.is_number_integer()) recording.ranks = ranks.get<int>();
  for (Status status :
       {each(document, "regions",
             [&](const Json& json) {
               recording.regions.push_back({json.at("rank").get<int>(), json.at("name").get<std::string>(),
                                            json.at("bytes").get<std::uint64_t>()});
             }),
        each(document, "launches",
             [&](const Json& json) {
               recording.launches.push_back(
                   {json.at("program").get<std::string>(), json.at("first").get<std::uint32_t>(),
                    json.at("recorded").get<std::uint32_t>(), json.at("blocks").get<std::uint32_t>(),
                    json.at("threads").get<std::uint32_t>(), json.at("early").get<bool>(),
                    json.at("fold").get<double>()});
             }),
        each(document, "strands",
             [&](const Json& json) {
               Strand strand{json.at("rank").get<int>(),
                             json.at("lane").get<std::uint32_t>(),
                             json.at("block").get<int>(),
                             {},
                             {}};
               for (const Json& step : json.at("steps")) read_step(step, strand);
               recording.strands.push_back(std::move(strand));
             }),
        each(document, "promises", [&](const Json& json) {
          Promise promise{
              end_of(json.at("result")), json.at("bytes").get<std::uint64_t>(), {}, json.at("same_bits").get<int>()};
          for (const Json& source : json.at("sources")) promise.sources.push_back(end_of(source));
          schedule.promises.push_back(std::move(promise));
        })})
    if (!status.ok()) return status;
  if (auto status = validate(schedule); !status) return status;
  return schedule;
}

}  // namespace sennit::sim
