// Checks sennit itself: what this build holds, hwloc, and whether this machine was measured and tuned.
#pragma once

#include <string>

#include "doctor/ask.h"
#include "doctor/check.h"
#include "doctor/situation.h"

namespace sennit::doctor {

struct OwnReadings {
  std::string trouble;  ///< the process that looked crashed or fell silent
  bool hwloc = false;
  std::string hwloc_version;
  std::string fingerprint;     ///< of this machine; empty when it could not be described
  std::string problem;         ///< why not; or what is wrong with the kept file
  bool kept = false;           ///< a measured document of this machine is in the cache
  std::string measured;        ///< its date
  std::string tuned;           ///< date of the splits that were tuned; empty when none are kept
  std::string tuning_problem;  ///< what is wrong with the kept table
};

/// Tells three lines about this build and machine; runs in a process of its own, as discovery asks NVML.
void probe_own(const std::string& executor);
OwnReadings own_readings(const Answer& answer);

Check judge_build(const Situation& situation);
Check judge_hwloc(const OwnReadings& readings);
Check judge_measured(const Situation& situation, const OwnReadings& readings);
Check judge_tuned(const Situation& situation, const OwnReadings& readings);

}  // namespace sennit::doctor
