#include "doctor/locked_memory.h"

#include <sys/resource.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/environment.h"
#include "base/units.h"

namespace sennit::doctor {

namespace {

std::optional<std::uint64_t> bounded(rlim_t limit) {
  if (limit == RLIM_INFINITY) return std::nullopt;
  return limit;
}

std::string fix_for(const LockedMemoryReadings& readings, bool container) {
  if (container) return "docker run --ulimit memlock=-1 …";
  if (!readings.ceiling || *readings.ceiling >= readings.wanted)
    return "ulimit -l unlimited || ulimit -l $(ulimit -Hl)";
  return "Add '* - memlock unlimited' to /etc/security/limits.conf and log in again (Slurm: "
         "PropagateResourceLimitsExcept=MEMLOCK; systemd: LimitMEMLOCK=infinity)";
}

}  // namespace

LockedMemoryReadings read_locked_memory(int peers) {
  LockedMemoryReadings readings;
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0) {
    readings.limit = bounded(limit.rlim_cur);
    readings.ceiling = bounded(limit.rlim_max);
  }
  const Result<std::uint64_t> staging = parse_bytes(environment("SENNIT_STAGING"));
  readings.wanted = (staging.ok() ? *staging : 64 * MiB) * std::uint64_t(std::max(peers, 1));
  return readings;
}

Check judge_locked_memory(const Situation& situation, const LockedMemoryReadings& readings, bool container) {
  const Subject subject{"memlock", "Locked memory", situation.gpus()};
  const std::string limit = readings.limit ? format_bytes(*readings.limit) : "unlimited";
  if (!situation.gpus())
    return not_applicable(subject, fmt::format("The limit is {}; the host executor locks no memory", limit));
  const std::string wanted = format_bytes(readings.wanted);
  if (readings.pinned == false)
    return missing(subject,
                   fmt::format("CUDA cannot pin the {} of staging memory of a rank (limit {}): {}", wanted, limit,
                               readings.problem),
                   fix_for(readings, container) + ", free host memory, or set SENNIT_STAGING=16M");
  const bool enough = !readings.limit || *readings.limit >= readings.wanted;
  if (readings.pinned == true) {
    if (enough) return works(subject, fmt::format("CUDA pins the {} of a rank; the limit is {}", wanted, limit));
    return degraded(subject,
                    fmt::format("CUDA pins the {} of a rank all the same, but the limit of {} stops MPI and UCX from "
                                "registering memory with network cards",
                                wanted, limit),
                    fix_for(readings, container));
  }
  if (enough) return works(subject, fmt::format("The limit is {}; a rank wants {}", limit, wanted));
  return degraded(
      subject, fmt::format("The limit of {} is below the {} that a rank wants; pinning was not tried", limit, wanted),
      fix_for(readings, container));
}

}  // namespace sennit::doctor
