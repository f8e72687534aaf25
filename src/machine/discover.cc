#include "machine/discover.h"

#include <ctime>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/environment.h"
#include "machine/validate.h"

namespace sennit::machine {

namespace {

Result<Machine> host_executor_machine() {
  const Result<long long> devices = environment_integer("SENNIT_HOST_DEVICES");
  if (!devices.ok()) return devices.status();
  if (*devices < 1 || *devices > 64)
    return Status(Code::invalid_argument, fmt::format("SENNIT_HOST_DEVICES={} is not a number of devices", *devices),
                  {}, "Set it to 1 to 64, or unset it");
  return host_machine(int(*devices), read_sysfs(), today());
}

Readings read_with(NvmlReadings nvml, const std::vector<GpuExtra>& extras) {
  Readings readings = read_beside_nvml();
  readings.nvml = std::move(nvml);
  readings.extras = extras;
  return readings;
}

}  // namespace

std::string today() {
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)));
}

Machine discover(const std::vector<GpuExtra>& extras) {
  return assemble(read_with(read_nvml(), extras));
}

Readings read_beside_nvml() {
  Readings readings;
  readings.sysfs = read_sysfs();
  // Tens of milliseconds on large machines, which say all that it could add.
  if (has_gaps(readings.sysfs)) readings.hwloc = read_hwloc();
  readings.date = today();
  return readings;
}

Result<Machine> machine_of_gpus(const Readings& readings) {
  const NvmlReadings& nvml = readings.nvml;
  if (nvml.gpus.empty())
    return Status(Code::unsupported, "no GPU answers", nvml.present ? "NVML lists none" : nvml.problem,
                  "Install the NVIDIA driver and give this process access to a GPU, or use --executor host");
  return assemble(readings);
}

Result<Machine> this_machine(std::string_view executor, const std::vector<GpuExtra>& extras) {
  const std::string wanted = executor.empty() ? environment("SENNIT_EXECUTOR") : std::string(executor);
  if (wanted == "host") return host_executor_machine();
  if (wanted != "cuda" && wanted != "auto")
    return Status(Code::invalid_argument, fmt::format("'{}' is not an executor", printable(wanted)), {},
                  "Use auto, cuda or host");
  NvmlReadings nvml = read_nvml();
  if (wanted == "auto" && nvml.gpus.empty()) return host_executor_machine();
  return machine_of_gpus(read_with(std::move(nvml), extras));
}

}  // namespace sennit::machine
