#include "bench/map/order.h"

#include <algorithm>

#include "place/read_traffic.h"
#include "place/topology.h"

namespace sennit::bench {

namespace {

/// Returns where each rank's process was. Errors: corrupt (a rank that is none of the job's, or has no host).
Result<std::vector<place::Process>> processes_of(const Json& profile, int ranks, const std::string& file) {
  std::vector<place::Process> processes(static_cast<std::size_t>(ranks));
  const auto wrong = [&] {
    return Status(Code::corrupt, "a process has no host, or no rank of the job", file,
                  "Give the document of `sennit report FOLDER --json`");
  };
  const auto list = profile.find("ranks");
  if (list == profile.end() || !list->is_array()) return wrong();
  for (const Json& each : *list) {
    if (!each.is_object() || !each.value("rank", Json()).is_number_integer() ||
        !each.value("host", Json()).is_string())
      return wrong();
    const auto rank = each["rank"].get<std::int64_t>();
    if (rank < 0 || rank >= ranks) return wrong();
    processes[static_cast<std::size_t>(rank)] = {each["host"].get<std::string>(), {}, -1};
  }
  if (!std::ranges::all_of(processes, [](const place::Process& each) { return !each.node.empty(); })) return wrong();
  return processes;
}

}  // namespace

Result<Exit> print_order(const std::string& profile) {
  const auto document = read_json(profile);
  if (!document) return of_arguments(document.status());
  const auto profiled = place::traffic_of(*document, profile);
  if (!profiled) return of_arguments(profiled.status());
  const auto processes = processes_of(*document, profiled->traffic.ranks(), profile);
  if (!processes) return of_arguments(processes.status());
  const auto order = place::reorder(profiled->traffic, *processes, nullptr);
  print({{"version", 1},
         {"kind", "map order"},
         {"ranks", processes->size()},
         {"process", order ? order->process : std::vector<int>()}});
  return Exit::ok;
}

}  // namespace sennit::bench
