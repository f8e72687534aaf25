#include "doctor/sharing.h"

#include <fmt/format.h>

#include "doctor/status_json.h"

namespace sennit::doctor {

namespace {

Subject subject_of(const Situation& situation, Sharing sharing) {
  switch (sharing) {
    case Sharing::handle: return {"ipc_handle", "GPU memory by handle (cudaMalloc)", situation.gpus()};
    case Sharing::file: return {"ipc_file", "GPU memory by file descriptor (cuMemCreate)", false};
    case Sharing::host: return {"ipc_host", "Host memory by file descriptor", !situation.gpus()};
  }
  return {};
}

std::string general_fix(Sharing sharing, bool container) {
  if (sharing == Sharing::host) return "Allow memfd_create, socketpair and SCM_RIGHTS in the sandbox that runs this";
  if (container) return "docker run --ipc=host --gpus all … (all ranks in one container, or all with --ipc=host)";
  return "Give all ranks the same GPUs and one IPC namespace (srun --tres-bind=gres/gpu:none …); Windows' WSL has no "
         "CUDA IPC";
}

}  // namespace

std::string_view name(Sharing sharing) {
  switch (sharing) {
    case Sharing::handle: return "handle";
    case Sharing::file: return "file";
    case Sharing::host: return "host";
  }
  return "host";
}

SharingReadings sharing_readings(const Answer& giver, const Answer& taker, Sharing sharing) {
  SharingReadings readings;
  readings.trouble = !giver.trouble().empty()   ? "giving memory " + giver.trouble()
                     : !taker.trouble().empty() ? "taking memory " + taker.trouble()
                                                : "";
  if (const Json* const opened = giver.find("opened")) readings.opened = status_of(*opened);
  for (const Json& line : giver.lines)
    if (line.value("sharing", "") == name(sharing))
      readings.outcome = status_of(line.value("outcome", Json(nullptr)));
  return readings;
}

Check judge_sharing(const Situation& situation, const SharingReadings& readings, Sharing sharing, bool container) {
  const Subject subject = subject_of(situation, sharing);
  if (sharing != Sharing::host) {
    if (!situation.gpus()) return not_applicable(subject, situation.why_no_gpus());
    if (!situation.cuda_build) return not_applicable(subject, "This build has no cuda executor to try it with");
  }
  if (readings.outcome && readings.outcome->ok())
    return works(subject, "1 MiB written by one process and checked by another, both ways");
  // Other checks report that no GPU answers; here there is only nothing to try.
  if (!readings.outcome && readings.opened.code() == Code::not_found)
    return not_applicable(subject, fmt::format("Could not be tried: {}", readings.opened.what()));
  const Status& problem = readings.outcome ? *readings.outcome : readings.opened;
  std::string what = problem.what();
  if (!readings.trouble.empty() && !readings.outcome)
    what = fmt::format("the process {}", readings.trouble);
  else if (what.empty())
    what = "the processes that tried it said nothing";
  if (!problem.where().empty()) what += fmt::format(" ({})", problem.where());
  return missing(subject, fmt::format("Two processes cannot share it: {}", what),
                 remedy_of(problem, general_fix(sharing, container)));
}

}  // namespace sennit::doctor
