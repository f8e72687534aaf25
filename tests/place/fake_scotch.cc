// Scotch as map_by_scotch() sees it: maps rank i to slot n - 1 - i, or does what FAKE_SCOTCH asks for.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#define FAKE extern "C" __attribute__((visibility("default")))

namespace {

bool asked(const char* what) {
  const char* const value = std::getenv("FAKE_SCOTCH");
  return value != nullptr && std::strcmp(value, what) == 0;
}

std::int32_t vertices = 0;

}  // namespace

FAKE int SCOTCH_numSizeof() {
  return asked("width") ? 3 : 4;
}
FAKE void SCOTCH_randomSeed(std::int32_t) {}
FAKE void SCOTCH_randomReset() {}
FAKE int SCOTCH_graphInit(void*) {
  return 0;
}
FAKE int SCOTCH_archInit(void*) {
  return 0;
}
FAKE int SCOTCH_stratInit(void*) {
  return 0;
}
FAKE int SCOTCH_stratGraphMapBuild(void*, std::int32_t, std::int32_t, double) {
  return 0;
}
FAKE int SCOTCH_graphBuild(void*, std::int32_t, std::int32_t count, const std::int32_t*, const std::int32_t*,
                           const std::int32_t*, const std::int32_t*, std::int32_t, const std::int32_t*,
                           const std::int32_t*) {
  vertices = count;
  return 0;
}
FAKE int SCOTCH_archBuild(void*, void*, std::int32_t, const std::int32_t*, void*) {
  return asked("fail") ? 1 : 0;
}
FAKE int SCOTCH_graphMap(void*, void*, void*, std::int32_t* parts) {
  if (asked("crash")) std::abort();
  if (asked("exit")) _exit(0);
  for (std::int32_t i = 0; i < vertices; ++i)
    parts[i] = asked("same") ? 2 : asked("wild") ? 1000000 * (i - 1) : vertices - 1 - i;
  return 0;
}
