#include "shim/recorder/cupti.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string>

namespace sennit::shim::recorder {

namespace {

template <class Function>
bool find_in_cupti(void* library, Function*& function, const char* name) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

void* open_cupti() {
  constexpr const char* kNames[] = {"libcupti.so.13", "libcupti.so.12"};
  for (const int mode : {RTLD_LAZY | RTLD_NOLOAD, RTLD_LAZY})
    for (const char* const name : kNames)
      if (void* const found = dlopen(name, mode)) return found;
  for (const char* const variable : {"CUDA_HOME", "CUDA_PATH", ""}) {
    const char* const home = *variable != 0 ? std::getenv(variable) : "/usr/local/cuda";
    if (home == nullptr) continue;
    for (const char* const folder : {"/extras/CUPTI/lib64/libcupti.so", "/lib64/libcupti.so", "/lib/libcupti.so"})
      if (void* const found = dlopen((std::string(home) + folder).c_str(), RTLD_LAZY)) return found;
  }
  return nullptr;
}

}  // namespace

Result<Cupti> Cupti::of_process() {
  void* const library = open_cupti();
  if (library == nullptr)
    return Status(Code::not_found, "CUPTI (libcupti.so) is not here", {},
                  "Install the CUDA toolkit's CUPTI and name its folder in LD_LIBRARY_PATH");
  Cupti found;
  const bool whole = find_in_cupti(library, found.subscribe, "cuptiSubscribe") &&
                     find_in_cupti(library, found.unsubscribe, "cuptiUnsubscribe") &&
                     find_in_cupti(library, found.register_callbacks, "cuptiActivityRegisterCallbacks") &&
                     find_in_cupti(library, found.enable, "cuptiActivityEnable") &&
                     find_in_cupti(library, found.disable, "cuptiActivityDisable") &&
                     find_in_cupti(library, found.flush_all, "cuptiActivityFlushAll") &&
                     find_in_cupti(library, found.next_record, "cuptiActivityGetNextRecord") &&
                     find_in_cupti(library, found.push, "cuptiActivityPushExternalCorrelationId") &&
                     find_in_cupti(library, found.pop, "cuptiActivityPopExternalCorrelationId") &&
                     find_in_cupti(library, found.timestamp, "cuptiGetTimestamp");
  (void)find_in_cupti(library, found.flush_period, "cuptiActivityFlushPeriod");  // of CUDA 11.1
  (void)find_in_cupti(library, found.enable_callback, "cuptiEnableCallback");
  (void)find_in_cupti(library, found.graph_node_id, "cuptiGetGraphNodeId");
  if (!whole)
    return Status(Code::not_found, "this CUPTI lacks functions of CUDA 12", {}, "Install that of CUDA 12 or later");
  return found;
}

}  // namespace sennit::shim::recorder
