#include "shim/recorder/gpu_driver.h"

#include <dlfcn.h>

#include <iterator>

namespace sennit::shim::recorder {

namespace {

template <class Function>
bool find_in(void* library, Function*& function, const char* name) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

std::optional<GpuDriver> GpuDriver::of_process() {
  void* const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return std::nullopt;
  GpuDriver driver;
  const bool whole =
      find_in(library, driver.current, "cuCtxGetCurrent") && find_in(library, driver.context_of, "cuStreamGetCtx") &&
      find_in(library, driver.push, "cuCtxPushCurrent_v2") && find_in(library, driver.pop, "cuCtxPopCurrent_v2") &&
      find_in(library, driver.create, "cuEventCreate") && find_in(library, driver.record, "cuEventRecord") &&
      find_in(library, driver.query, "cuEventQuery") && find_in(library, driver.elapsed, "cuEventElapsedTime") &&
      find_in(library, driver.stream_query, "cuStreamQuery") &&
      find_in(library, driver.capturing, "cuStreamIsCapturing") &&
      find_in(library, driver.exchange_mode, "cuThreadExchangeStreamCaptureMode");
  (void)find_in(library, driver.context_id, "cuCtxGetId");  // of CUDA 12
  GpuDriver::Graphs graphs;
  if (find_in(library, graphs.capture_info, "cuStreamGetCaptureInfo_v2") &&
      find_in(library, graphs.load, "cuModuleLoadData") && find_in(library, graphs.function, "cuModuleGetFunction") &&
      find_in(library, graphs.register_memory, "cuMemHostRegister_v2") &&
      find_in(library, graphs.device_pointer, "cuMemHostGetDevicePointer_v2") &&
      find_in(library, graphs.add_kernel, "cuGraphAddKernelNode_v2"))
    driver.graphs = graphs;
  return whole ? std::optional(driver) : std::nullopt;
}

Capture capture_of(const GpuDriver& driver, void* stream) {
  using State = Capture::State;
  constexpr State kStates[] = {State::none, State::active, State::broken};  // CU_STREAM_CAPTURE_STATUS_
  Capture found;
  int status = -1;
  const int error = driver.graphs.capture_info != nullptr
                        ? driver.graphs.capture_info(stream, &status, &found.id, &found.graph, nullptr, nullptr)
                        : driver.capturing(stream, &status);
  if (error == 0 && status >= 0 && static_cast<std::size_t>(status) < std::size(kStates))
    found.state = kStates[status];
  return found;
}

}  // namespace sennit::shim::recorder
