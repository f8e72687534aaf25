#include "machine/nvml.h"

#include <dlfcn.h>

#include <array>
#include <cctype>
#include <span>

#include <fmt/format.h>

#include "machine/pci.h"
#include "machine/validate.h"

namespace sennit::machine {

namespace {

// NVML's binary interface, as its documentation describes it. Only what is called here.
using Handle = void*;
constexpr int kSuccess = 0;
constexpr unsigned kMostLinks =
    36;  ///< NVML_NVLINK_MAX_LINKS of the newest generation; unknown links answer an error

struct Memory {
  unsigned long long total, free, used;
};

struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};

struct FieldValue {
  unsigned field, scope;
  long long timestamp, latency;
  int type, status;
  union {
    double real;
    unsigned int whole;
    unsigned long machine_word;
    unsigned long long wide;
  } value;
};
constexpr unsigned kSpeedCommon = 90;   ///< NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON
constexpr unsigned kSpeedOfLink = 164;  ///< NVML_FI_DEV_NVLINK_GET_SPEED, scope is the link

struct FabricInfo {
  unsigned version;
  unsigned char cluster[16];
  int status;
  unsigned clique;
  unsigned char state;
  unsigned health;
};
constexpr unsigned kFabricVersion = unsigned(sizeof(FabricInfo)) | (2u << 24);
constexpr unsigned char kFabricCompleted = 3;

constexpr int kPeerRead = 0, kPeerNvlink = 2;  ///< nvmlGpuP2PCapsIndex_t

/// The opened library. A missing function leaves a null pointer: older drivers lack the newer ones. It stays open and
/// started: the driver's libraries keep threads and thread-local state of their own, and the last shutdown has NVML
/// forget what it found out of each GPU in 7 ms, which the program's NCCL asks next.
class Library {
 public:
  explicit Library(const std::string& file) : handle_(::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) problem = fmt::format("{} cannot be opened", file);
  }
  bool start() {
    if (handle_ == nullptr) return false;
    if (!find(init, "nvmlInit_v2") || !find(count, "nvmlDeviceGetCount_v2") ||
        !find(by_index, "nvmlDeviceGetHandleByIndex_v2") || !find(pci_info, "nvmlDeviceGetPciInfo_v3")) {
      problem = "the library lacks functions that every NVML since 2018 has";
      return false;
    }
    find(error_string, "nvmlErrorString");
    if (const int code = init(); code != kSuccess) {
      problem = fmt::format("NVML did not start: {}", error_string != nullptr ? error_string(code) : "unknown error");
      return false;
    }
    find(driver_version, "nvmlSystemGetDriverVersion");
    find(cuda_version, "nvmlSystemGetCudaDriverVersion_v2");
    find(name, "nvmlDeviceGetName");
    find(uuid, "nvmlDeviceGetUUID");
    find(memory, "nvmlDeviceGetMemoryInfo");
    find(pcie_max_generation, "nvmlDeviceGetMaxPcieLinkGeneration");
    find(pcie_width, "nvmlDeviceGetCurrPcieLinkWidth");
    find(pcie_max_width, "nvmlDeviceGetMaxPcieLinkWidth");
    find(link_state, "nvmlDeviceGetNvLinkState");
    find(link_remote_pci, "nvmlDeviceGetNvLinkRemotePciInfo_v2");
    find(link_remote_type, "nvmlDeviceGetNvLinkRemoteDeviceType");
    find(field_values, "nvmlDeviceGetFieldValues");
    find(peer_status, "nvmlDeviceGetP2PStatus");
    find(fabric, "nvmlDeviceGetGpuFabricInfoV");
    return true;
  }

  std::string problem;
  int (*init)() = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*cuda_version)(int*) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*by_index)(unsigned, Handle*) = nullptr;
  int (*name)(Handle, char*, unsigned) = nullptr;
  int (*uuid)(Handle, char*, unsigned) = nullptr;
  int (*memory)(Handle, Memory*) = nullptr;
  int (*pci_info)(Handle, PciInfo*) = nullptr;
  int (*pcie_max_generation)(Handle, unsigned*) = nullptr;
  int (*pcie_width)(Handle, unsigned*) = nullptr;
  int (*pcie_max_width)(Handle, unsigned*) = nullptr;
  int (*link_state)(Handle, unsigned, unsigned*) = nullptr;
  int (*link_remote_pci)(Handle, unsigned, PciInfo*) = nullptr;
  int (*link_remote_type)(Handle, unsigned, int*) = nullptr;
  int (*field_values)(Handle, int, FieldValue*) = nullptr;
  int (*peer_status)(Handle, Handle, int, int*) = nullptr;
  int (*fabric)(Handle, FabricInfo*) = nullptr;

 private:
  template <class Function>
  bool find(Function& function, const char* symbol) {
    function = reinterpret_cast<Function>(::dlsym(handle_, symbol));
    return function != nullptr;
  }

  void* handle_;
};

std::string read_text(int (*function)(Handle, char*, unsigned), Handle gpu) {
  std::array<char, 128> text{};
  if (function == nullptr || function(gpu, text.data(), unsigned(text.size() - 1)) != kSuccess) return {};
  return printable(text.data());
}

int read_count(int (*function)(Handle, unsigned*), Handle gpu) {
  unsigned value = 0;
  return function != nullptr && function(gpu, &value) == kSuccess ? int(value) : 0;
}

std::string address(const PciInfo& info) {
  const std::string text(info.bus_id, strnlen(info.bus_id, sizeof(info.bus_id)));
  return normal_pci(text);
}

/// Field values come typed: 0 double, 1 unsigned, 2 unsigned long, 3 unsigned long long.
double number(const FieldValue& field) {
  switch (field.type) {
    case 0: return field.value.real;
    case 1: return double(field.value.whole);
    case 2: return double(field.value.machine_word);
    case 3: return double(field.value.wide);
    default: return 0;
  }
}

/// MB/s; 0 where NVML does not say.
double speed_in(const FieldValue& field) {
  return field.status == kSuccess && number(field) > 0 ? number(field) : 0;
}

/// Reads the speeds of active links, asked for at once: a question takes as long for all of a GPU's as for one.
void read_speeds(const Library& nvml, Handle gpu, std::vector<NvmlNvlink>& links) {
  if (nvml.field_values == nullptr || links.empty()) return;
  std::vector<FieldValue> fields(links.size() + 1);
  for (std::size_t i = 0; i < links.size(); ++i) {
    fields[i].field = kSpeedOfLink;
    fields[i].scope = unsigned(links[i].index);
  }
  // Older drivers answer only for all links together.
  FieldValue& common = fields.back();
  common.field = kSpeedCommon;
  if (nvml.field_values(gpu, int(fields.size()), fields.data()) != kSuccess) return;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const double own = speed_in(fields[i]);
    if (links[i].active) links[i].raw_gbps = (own > 0 ? own : speed_in(common)) / 1000;
  }
}

NvlinkRemote remote_type(const Library& nvml, Handle gpu, unsigned link) {
  int type = 255;
  if (nvml.link_remote_type == nullptr || nvml.link_remote_type(gpu, link, &type) != kSuccess)
    return NvlinkRemote::unknown;
  return type == 0   ? NvlinkRemote::gpu
         : type == 1 ? NvlinkRemote::host
         : type == 2 ? NvlinkRemote::nvswitch
                     : NvlinkRemote::unknown;
}

std::vector<NvmlNvlink> read_nvlinks(const Library& nvml, Handle gpu) {
  std::vector<NvmlNvlink> links;
  for (unsigned index = 0; nvml.link_state != nullptr && index < kMostLinks; ++index) {
    unsigned active = 0;
    if (nvml.link_state(gpu, index, &active) != kSuccess) continue;
    NvmlNvlink link;
    link.index = int(index);
    link.active = active != 0;
    if (link.active) {
      link.remote = remote_type(nvml, gpu, index);
      PciInfo info{};
      if (nvml.link_remote_pci != nullptr && nvml.link_remote_pci(gpu, index, &info) == kSuccess)
        link.remote_pci = address(info);
    }
    links.push_back(link);
  }
  read_speeds(nvml, gpu, links);
  return links;
}

NvmlGpu read_gpu(const Library& nvml, Handle gpu) {
  NvmlGpu one;
  one.name = read_text(nvml.name, gpu);
  one.uuid = read_text(nvml.uuid, gpu);
  PciInfo info{};
  if (nvml.pci_info(gpu, &info) == kSuccess) one.pci = address(info);
  Memory memory{};
  if (nvml.memory != nullptr && nvml.memory(gpu, &memory) == kSuccess) one.memory_bytes = memory.total;
  one.pcie_width = read_count(nvml.pcie_width, gpu);
  one.pcie_max_generation = read_count(nvml.pcie_max_generation, gpu);
  one.pcie_max_width = read_count(nvml.pcie_max_width, gpu);
  one.nvlinks = read_nvlinks(nvml, gpu);
  FabricInfo fabric{};
  fabric.version = kFabricVersion;
  one.fabric = nvml.fabric != nullptr && nvml.fabric(gpu, &fabric) == kSuccess && fabric.state == kFabricCompleted &&
               fabric.status == kSuccess;
  return one;
}

std::optional<bool> peer(const Library& nvml, Handle one, Handle other, int capability) {
  int status = 0;
  if (nvml.peer_status == nullptr || nvml.peer_status(one, other, capability, &status) != kSuccess)
    return std::nullopt;
  return status == 0;
}

NvmlPair read_pair(const Library& nvml, std::span<const Handle> gpus, std::size_t one, std::size_t other) {
  NvmlPair pair;
  pair.one = int(one);
  pair.other = int(other);
  pair.peer_nvlink = peer(nvml, gpus[one], gpus[other], kPeerNvlink);  // a link is both's
  if (pair.peer_nvlink == true) return pair;
  pair.peer_read = peer(nvml, gpus[one], gpus[other], kPeerRead);
  if (pair.peer_read == true) pair.peer_read = peer(nvml, gpus[other], gpus[one], kPeerRead);
  return pair;
}

}  // namespace

NvmlReadings read_nvml(const std::string& file) {
  NvmlReadings readings;
  Library nvml(file);
  if (!nvml.start()) {
    readings.problem = nvml.problem;
    return readings;
  }
  readings.present = true;
  std::array<char, 96> text{};
  if (nvml.driver_version != nullptr && nvml.driver_version(text.data(), unsigned(text.size() - 1)) == kSuccess)
    readings.driver = printable(text.data());
  int version = 0;
  if (nvml.cuda_version != nullptr && nvml.cuda_version(&version) == kSuccess && version > 0)
    readings.cuda = fmt::format("{}.{}", version / 1000, version % 1000 / 10);

  unsigned count = 0;
  if (nvml.count(&count) != kSuccess) count = 0;
  std::vector<Handle> handles;
  for (unsigned index = 0; index < count; ++index) {
    Handle gpu = nullptr;
    // A GPU that fell off the bus, or that a cgroup hides, answers an error here; the others are still read.
    if (nvml.by_index(index, &gpu) != kSuccess) continue;
    handles.push_back(gpu);
    readings.gpus.push_back(read_gpu(nvml, gpu));
  }
  for (std::size_t one = 0; one < handles.size(); ++one)
    for (std::size_t other = one + 1; other < handles.size(); ++other)
      readings.pairs.push_back(read_pair(nvml, handles, one, other));
  return readings;
}

}  // namespace sennit::machine
