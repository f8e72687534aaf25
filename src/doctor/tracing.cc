#include "doctor/tracing.h"

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "doctor/ask.h"
#include "doctor/text_file.h"

namespace sennit::doctor {

namespace {

/// errno of reading one byte at `address` of `process`; 0 when it worked.
int read_byte(pid_t process, std::uint64_t address) {
  char byte = 0;
  const iovec here{&byte, 1};
  const iovec there{reinterpret_cast<void*>(address), 1};
  return process_vm_readv(process, &here, 1, &there, 1, 0) == 1 ? 0 : errno;
}

}  // namespace

void probe_tracing(long process, std::uint64_t address) {
  tell({{"error", read_byte(pid_t(process), address)}});
}

TracingReadings read_tracing() {
  TracingReadings readings;
  const char byte = 0;
  readings.own_error = read_byte(getpid(), reinterpret_cast<std::uint64_t>(&byte));
  if (const auto scope = read_number("/proc/sys/kernel/yama/ptrace_scope")) readings.scope = int(*scope);
  return readings;
}

Check judge_tracing(const TracingReadings& readings, bool container) {
  const Subject subject{"ptrace", "Reading other processes"};
  if (readings.own_error != 0)
    return degraded(subject,
                    fmt::format("process_vm_readv is forbidden altogether ({}): sennit cannot tell freed pointers "
                                "from good ones, MPI and UCX copy twice",
                                std::strerror(readings.own_error)),
                    container ? "docker run --cap-add=SYS_PTRACE … (or --security-opt seccomp=unconfined)"
                              : "Allow process_vm_readv in the seccomp filter that started this process");
  if (!readings.trouble.empty())
    return not_applicable(subject, fmt::format("The process that was to try it {}", readings.trouble));
  if (readings.other_error == 0) return works(subject, "process_vm_readv works between processes of this user");
  const std::string fix = container ? "docker run --cap-add=SYS_PTRACE …" : "sudo sysctl kernel.yama.ptrace_scope=0";
  const std::string why = readings.scope.value_or(0) > 0
                              ? fmt::format("kernel.yama.ptrace_scope is {}", *readings.scope)
                              : std::string(std::strerror(readings.other_error));
  return degraded(subject,
                  fmt::format("Processes may not read each other's memory ({}): sennit does without, MPI and UCX "
                              "copy messages twice",
                              why),
                  fix);
}

}  // namespace sennit::doctor
