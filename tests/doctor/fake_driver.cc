// A stand-in for libcuda.so.1, put before the real one by LD_LIBRARY_PATH. FAKE_DRIVER says what goes wrong.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

bool mode(const char* name) {
  const char* value = std::getenv("FAKE_DRIVER");
  return value != nullptr && std::strcmp(value, name) == 0;
}

}  // namespace

EXPORT int cuInit(unsigned) {
  if (mode("crash")) std::abort();
  return mode("not_ready") ? 802 : 0;
}
EXPORT int cuDriverGetVersion(int* version) {
  *version = 99000;
  return 0;
}
EXPORT int cuGetErrorString(int, const char** text) {
  *text = "system not yet initialized";
  return 0;
}
EXPORT int cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}
EXPORT int cuDeviceGetName(char* name, int size, int) {
  std::snprintf(name, std::size_t(size), "Made-up GPU");
  return 0;
}
EXPORT int cuDeviceGetPCIBusId(char* pci, int size, int) {
  std::snprintf(pci, std::size_t(size), "0000:1B:00.0");
  return 0;
}
