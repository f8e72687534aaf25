#include "doctor/own.h"

#include <fmt/format.h>

#include "machine/cache.h"
#include "machine/discover.h"
#include "machine/hwloc.h"
#include "path/tuned.h"

namespace sennit::doctor {

void probe_own(const std::string& executor) {
  const machine::HwlocReadings hwloc = machine::read_hwloc();
  tell({{"hwloc", hwloc.present}, {"version", hwloc.version}});
  const Result<machine::Machine> found = machine::this_machine(executor);
  if (!found.ok()) return tell({{"fingerprint", ""}, {"problem", found.status().text()}});
  const Result<machine::Machine> kept = machine::load_cached(found->fingerprint);
  const bool only_absent = !kept.ok() && kept.status().code() == Code::not_found;
  tell({{"fingerprint", found->fingerprint},
        {"problem", kept.ok() || only_absent ? "" : kept.status().text()},
        {"kept", kept.ok()},
        {"measured", kept.ok() ? kept->date : ""}});
  const Result<path::PutTable> table = path::load_put_table(found->fingerprint);
  const bool only_untuned = !table.ok() && table.status().code() == Code::not_found;
  tell({{"tuned", table.ok() ? table->date : ""},
        {"tuning_problem", table.ok() || only_untuned ? "" : table.status().text()}});
}

OwnReadings own_readings(const Answer& answer) {
  OwnReadings readings;
  readings.trouble = answer.trouble();
  for (const Json& line : answer.lines) {
    if (line.contains("hwloc")) {
      readings.hwloc = line.value("hwloc", false);
      readings.hwloc_version = line.value("version", "");
    }
    if (line.contains("fingerprint")) {
      readings.fingerprint = line.value("fingerprint", "");
      readings.problem = line.value("problem", "");
      readings.kept = line.value("kept", false);
      readings.measured = line.value("measured", "");
    }
    if (line.contains("tuned")) {
      readings.tuned = line.value("tuned", "");
      readings.tuning_problem = line.value("tuning_problem", "");
    }
  }
  return readings;
}

Check judge_build(const Situation& situation) {
  const Subject subject{"build", "This build of sennit", situation.gpus()};
  if (situation.cuda_build)
    return works(subject, fmt::format("Executors: cuda (toolkit {}), host", situation.toolkit));
  if (!situation.cuda_trouble.empty())
    return missing(subject, fmt::format("Executors: host alone; {}", situation.cuda_trouble), "Install sennit again");
  if (!situation.gpus()) return works(subject, "Executors: host");
  return missing(subject, "Executors: host only, so that it cannot use the GPUs here",
                 "Install a CUDA toolkit (12.5 or newer), put nvcc on PATH, and build again: make build");
}

Check judge_hwloc(const OwnReadings& readings) {
  const Subject subject{"hwloc", "hwloc"};
  if (readings.hwloc) return works(subject, fmt::format("Version {}", readings.hwloc_version));
  return missing(subject, "Not in this build; the kernel's own files suffice",
                 "sudo apt-get install libhwloc-dev, and build again");
}

Check judge_measured(const Situation& situation, const OwnReadings& readings) {
  const Subject subject{"measured", "This machine's measurement"};
  const std::string fix =
      situation.executor == "host" ? "sennit topo --measure --executor host" : "sennit topo --measure";
  if (readings.kept) return works(subject, fmt::format("Measured on {}", readings.measured));
  if (readings.fingerprint.empty()) {
    const std::string why = !readings.trouble.empty() ? "looking for it " + readings.trouble : readings.problem;
    return missing(subject, fmt::format("This machine cannot be described: {}", why),
                   "Mend the lines on the CUDA driver and NVML first");
  }
  if (!readings.problem.empty())
    return degraded(subject, fmt::format("What was measured cannot be used: {}", readings.problem), fix);
  return missing(subject, "Never measured with this hardware and driver; messages take the direct path alone", fix);
}

Check judge_tuned(const Situation& situation, const OwnReadings& readings) {
  const Subject subject{"tuned", "Fastest splits of this machine"};
  const std::string fix = situation.executor == "host" ? "sennit tune --executor host" : "sennit tune";
  if (readings.fingerprint.empty())
    return not_applicable(subject, "This machine cannot be described, so nothing is kept for it");
  if (!readings.tuning_problem.empty())
    return degraded(subject, fmt::format("What was tuned cannot be used: {}", readings.tuning_problem), fix);
  if (!readings.tuned.empty()) return works(subject, fmt::format("Tuned on {}", readings.tuned));
  if (!readings.kept) return missing(subject, "Never tuned; tuning measures this machine first", fix);
  return missing(subject, "Never tuned, so every message takes the direct path alone", fix);
}

}  // namespace sennit::doctor
