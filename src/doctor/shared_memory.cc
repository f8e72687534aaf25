#include "doctor/shared_memory.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/units.h"

namespace sennit::doctor {

SharedMemoryReadings read_shared_memory(const std::filesystem::path& folder) {
  SharedMemoryReadings readings;
  struct statvfs file_system {};
  if (statvfs(folder.c_str(), &file_system) != 0) return readings;
  readings.present = true;
  readings.bytes = std::uint64_t(file_system.f_blocks) * file_system.f_frsize;
  readings.free_bytes = std::uint64_t(file_system.f_bavail) * file_system.f_frsize;
  readings.writable = access(folder.c_str(), R_OK | W_OK | X_OK) == 0;
  return readings;
}

Check judge_shared_memory(const SharedMemoryReadings& readings, int gpus, bool container) {
  const Subject subject{"shm", "/dev/shm"};
  if (!readings.present)
    return missing(subject, "There is no /dev/shm; sennit does without, NCCL and MPI do not",
                   "sudo mkdir -p /dev/shm && sudo mount -t tmpfs -o mode=1777 shm /dev/shm");
  if (!readings.writable)
    return degraded(subject, "/dev/shm may not be written; sennit does without, NCCL and MPI do not",
                    "sudo chmod 1777 /dev/shm");
  const std::uint64_t least = std::max(GiB, std::uint64_t(std::max(gpus, 0)) * 64 * MiB);
  const std::string size =
      fmt::format("{} of {} free", format_bytes(readings.free_bytes), format_bytes(readings.bytes));
  if (readings.bytes < least) {
    const std::string fix = container
                                ? fmt::format("docker run --shm-size={}g … (or --ipc=host)", (least + GiB - 1) / GiB)
                                : fmt::format("sudo mount -o remount,size={}G /dev/shm", (least + GiB - 1) / GiB);
    return degraded(subject,
                    fmt::format("{}; NCCL and MPI want {} here (sennit uses none)", size, format_bytes(least)), fix);
  }
  if (readings.free_bytes < least / 4)
    return degraded(subject, fmt::format("{}; NCCL and MPI may fail for lack of it (sennit uses none)", size),
                    "Delete what ended jobs left behind: ls -la /dev/shm");
  return works(subject, size);
}

}  // namespace sennit::doctor
