// A stand-in for libnvidia-ml.so.1, loaded by nvml_test.cc: two GPUs, the first with two active NVLinks to the
// second, one active link to a hidden NVSwitch and one inactive link. The environment variable FAKE_NVML makes it
// fail, have no P2P over NVLink, or be of a newer driver.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kOk = 0, kNotSupported = 3, kDriverNotLoaded = 9;
int gpus[2] = {0, 1};

int index_of(void* gpu) {
  return *static_cast<int*>(gpu);
}

struct PciInfo {
  char legacy[16];
  unsigned domain, bus, device, id, subsystem;
  char bus_id[32];
};

struct FieldValue {
  unsigned field, scope;
  long long timestamp, latency;
  int type, status;
  unsigned long long value;
};

struct FabricInfo {
  unsigned version;
  unsigned char cluster[16];
  int status;
  unsigned clique;
  unsigned char state;
  unsigned health;
};

bool mode(const char* name) {
  const char* value = std::getenv("FAKE_NVML");
  return value != nullptr && std::strcmp(value, name) == 0;
}

}  // namespace

extern "C" {
__attribute__((visibility("default"))) int fake_nvml_users = 0;      // that have not shut it down
__attribute__((visibility("default"))) int fake_nvml_questions = 0;  // of pairs
}

EXPORT int nvmlInit_v2() {
  if (mode("no_driver")) return kDriverNotLoaded;
  ++fake_nvml_users;
  return kOk;
}
EXPORT int nvmlShutdown() {
  return --fake_nvml_users, kOk;
}
EXPORT const char* nvmlErrorString(int code) {
  return code == kDriverNotLoaded ? "Driver Not Loaded" : "Other";
}
EXPORT int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  std::snprintf(text, size, "580.159");
  return kOk;
}
EXPORT int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = 13010;
  return kOk;
}
EXPORT int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 3;
  return kOk;
}
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** gpu) {
  if (index == 1) return kNotSupported;  // a GPU that fell off the bus
  *gpu = &gpus[index == 0 ? 0 : 1];
  return kOk;
}
EXPORT int nvmlDeviceGetName(void*, char* text, unsigned size) {
  std::snprintf(text, size,
                "NVIDIA \xff"
                "100");
  return kOk;
}
EXPORT int nvmlDeviceGetUUID(void* gpu, char* text, unsigned size) {
  std::snprintf(text, size, "GPU-%d", index_of(gpu));
  return kOk;
}
EXPORT int nvmlDeviceGetMemoryInfo(void*, unsigned long long* memory) {
  memory[0] = 1ull << 40;
  return kOk;
}
EXPORT int nvmlDeviceGetPciInfo_v3(void* gpu, PciInfo* info) {
  std::snprintf(info->bus_id, sizeof(info->bus_id), "00000000:%cB:00.0", index_of(gpu) == 0 ? '1' : '2');
  return kOk;
}
EXPORT int nvmlDeviceGetMaxPcieLinkGeneration(void*, unsigned* value) {
  return *value = 5, kOk;
}
EXPORT int nvmlDeviceGetCurrPcieLinkWidth(void*, unsigned* value) {
  return *value = 8, kOk;
}
EXPORT int nvmlDeviceGetMaxPcieLinkWidth(void*, unsigned* value) {
  return *value = 16, kOk;
}
EXPORT int nvmlDeviceGetNvLinkState(void* gpu, unsigned link, unsigned* active) {
  if (link > (index_of(gpu) == 0 ? 3u : 1u)) return kNotSupported;
  *active = link == 3 ? 0 : 1;
  return kOk;
}
EXPORT int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* gpu, unsigned link, PciInfo* info) {
  const char* target = link == 2 ? "FFFFFFFF:FF:FF.0" : index_of(gpu) == 0 ? "00000000:2B:00.0" : "00000000:1B:00.0";
  std::snprintf(info->bus_id, sizeof(info->bus_id), "%s", target);
  return kOk;
}
EXPORT int nvmlDeviceGetNvLinkRemoteDeviceType(void*, unsigned link, int* type) {
  return *type = link == 2 ? 2 : 0, kOk;
}
EXPORT int nvmlDeviceGetFieldValues(void*, int count, FieldValue* values) {
  for (int i = 0; i < count; ++i) {
    // To an older driver only the speed common to all links is known.
    const bool is_common = values[i].field == 90;
    values[i].status = is_common || mode("newer") ? kOk : kNotSupported;
    values[i].type = 1;
    values[i].value = is_common ? 26562 : 50000 + values[i].scope;
  }
  return kOk;
}
EXPORT int nvmlDeviceGetP2PStatus(void* one, void*, int capability, int* status) {
  ++fake_nvml_questions;
  // Without NVLink the second GPU cannot read the first: a pair counts when both directions do.
  const bool works = capability == 2 ? !mode("no_links") : index_of(one) == 0;
  *status = works ? 0 : 5;
  return kOk;
}
EXPORT int nvmlDeviceGetGpuFabricInfoV(void*, FabricInfo* info) {
  if (info->version >> 24 != 2) return kNotSupported;
  info->state = 3;
  info->status = kOk;
  return kOk;
}
