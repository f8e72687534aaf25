#include "doctor/driver.h"

#include <dlfcn.h>

#include <charconv>
#include <chrono>

#include <fmt/format.h>

#include "machine/pci.h"
#include "machine/validate.h"

namespace sennit::doctor {

namespace {

constexpr double kSlowStart = 3;  ///< seconds; a default: with the persistence daemon, four GPUs take about 0.3

/// Returns a function of the driver, or null. Its binary interface is documented and frozen.
template <class Function>
Function* function(void* library, const char* symbol) {
  return reinterpret_cast<Function*>(dlsym(library, symbol));
}

Json list_devices(void* library) {
  Json devices = Json::array();
  auto* const count_of = function<int(int*)>(library, "cuDeviceGetCount");
  auto* const name_of = function<int(char*, int, int)>(library, "cuDeviceGetName");
  auto* const pci_of = function<int(char*, int, int)>(library, "cuDeviceGetPCIBusId");
  int count = 0;
  if (count_of == nullptr || name_of == nullptr || pci_of == nullptr || count_of(&count) != 0) return devices;
  for (int device = 0; device < count; ++device) {
    char name[128] = "", pci[32] = "";
    (void)name_of(name, sizeof name - 1, device);
    (void)pci_of(pci, sizeof pci - 1, device);
    devices.push_back({{"model", machine::printable(name)}, {"pci", machine::normal_pci(pci)}});
  }
  return devices;
}

struct Remedy {
  int code;
  const char* fix;
};
/// Lists what mends a driver that does not start, by CUresult.
constexpr Remedy kRemedies[] = {
    {34, "Take the stub libcuda.so.1 (a folder called stubs) off LD_LIBRARY_PATH"},
    {46, "Another process holds the GPU exclusively: sudo nvidia-smi -c DEFAULT"},
    {100, "Give this process a GPU: docker run --gpus all …, srun --gpus=1 …, or unset CUDA_VISIBLE_DEVICES"},
    {802, "Start the fabric manager, which NVSwitch machines need: sudo systemctl start nvidia-fabricmanager"},
    {803,
     "Kernel module and libraries of the driver differ in version: reboot, or sudo modprobe -r nvidia_uvm nvidia "
     "and load them again"},
    {804, "Take the cuda-compat folder off LD_LIBRARY_PATH"},
    {999, "sudo modprobe nvidia_uvm (after sleep or a driver update: reboot)"},
};

std::string remedy(int code) {
  for (const Remedy& known : kRemedies)
    if (known.code == code) return known.fix;
  return "Run nvidia-smi; if it fails too, reinstall the NVIDIA driver";
}

/// "13.0.88" as 13000.
int toolkit_number(const std::string& text) {
  int major = 0, minor = 0;
  const char* const end = text.data() + text.size();
  const auto [dot, error] = std::from_chars(text.data(), end, major);
  if (error == std::errc{} && dot < end) (void)std::from_chars(dot + 1, end, minor);
  return major * 1000 + minor * 10;
}

std::string version_text(int number) {
  return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

Check judge_version(const Subject& subject, const Situation& situation, const DriverReadings& readings) {
  const int built = toolkit_number(situation.toolkit);
  const std::string driver = fmt::format("The driver supports CUDA {}", version_text(readings.version));
  if (built == 0) return works(subject, driver + "; this build uses no toolkit");
  if (readings.version / 1000 < built / 1000)
    return missing(
        subject, fmt::format("{}, but this build needs CUDA {}", driver, version_text(built)),
        fmt::format("Update the NVIDIA driver to one for CUDA {}, or build sennit with a toolkit of CUDA {} "
                    "or older",
                    version_text(built), version_text(readings.version)));
  if (readings.version < built)
    return degraded(subject,
                    fmt::format("{}, this build uses toolkit {}: it runs on the GPU generations it was compiled for, "
                                "not on newer ones",
                                driver, situation.toolkit),
                    fmt::format("Update the NVIDIA driver to one for CUDA {}", version_text(built)));
  if (readings.seconds > kSlowStart)
    return degraded(subject,
                    fmt::format("{}, but took {:.1f} s to start: it initialises the GPUs for every program", driver,
                                readings.seconds),
                    "sudo nvidia-smi -pm 1 (or start nvidia-persistenced)");
  return works(subject, fmt::format("{}; this build uses toolkit {}", driver, situation.toolkit));
}

}  // namespace

void probe_driver() {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const reason = dlerror();
    tell({{"library", false}, {"reason", reason != nullptr ? reason : "unknown error"}});
    return;
  }
  auto* const start = function<int(unsigned)>(library, "cuInit");
  auto* const version_of = function<int(int*)>(library, "cuDriverGetVersion");
  auto* const text_of = function<int(int, const char**)>(library, "cuGetErrorString");
  if (start == nullptr || version_of == nullptr) {
    tell({{"library", false}, {"reason", "libcuda.so.1 is not NVIDIA's driver"}});
    return;
  }
  const auto before = std::chrono::steady_clock::now();
  const int code = start(0);
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - before;
  const char* reason = nullptr;
  if (code != 0 && text_of != nullptr) (void)text_of(code, &reason);
  int version = 0;
  (void)version_of(&version);
  tell({{"library", true},
        {"code", code},
        {"reason", reason != nullptr ? reason : ""},
        {"version", version},
        {"seconds", passed.count()},
        {"devices", code == 0 ? list_devices(library) : Json::array()}});
}

DriverReadings driver_readings(const Answer& answer) {
  DriverReadings readings;
  readings.trouble = answer.trouble();
  if (answer.lines.empty()) return readings;
  readings.trouble.clear();  // it answered; how it ended after that is the libraries' business
  const Json& line = answer.lines.front();
  readings.library = line.value("library", false);
  readings.code = line.value("code", 0);
  readings.reason = line.value("reason", "");
  readings.version = line.value("version", 0);
  readings.seconds = line.value("seconds", 0.0);
  for (const Json& device : line.value("devices", Json::array()))
    readings.devices.push_back({device.value("pci", ""), device.value("model", "")});
  return readings;
}

Check judge_driver(const Situation& situation, const DriverReadings& readings) {
  const Subject subject{"driver", "CUDA driver", situation.gpus()};
  if (!situation.gpus()) return not_applicable(subject, situation.why_no_gpus());
  if (!readings.trouble.empty())
    return missing(
        subject, fmt::format("The driver {}", readings.trouble),
        "Look for Xid errors (sudo dmesg | grep -i nvrm), then reset the GPU (sudo nvidia-smi -r) or reboot");
  if (!readings.library)
    return missing(subject, fmt::format("libcuda.so.1 cannot be opened ({})", readings.reason),
                   "Install the NVIDIA driver; in a container: docker run --gpus all … "
                   "(NVIDIA_DRIVER_CAPABILITIES=compute,utility)");
  if (readings.code != 0)
    return missing(subject,
                   fmt::format("The driver does not start: {} (CUDA error {})",
                               readings.reason.empty() ? "unknown error" : readings.reason, readings.code),
                   remedy(readings.code));
  return judge_version(subject, situation, readings);
}

}  // namespace sennit::doctor
