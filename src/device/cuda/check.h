// Turns CUDA's errors into Status values.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <source_location>
#include <string>
#include <string_view>

#include "base/status.h"

namespace sennit::device {

/// `call` names what was attempted, for people. Clears the runtime's sticky-until-read last error.
Status check(cudaError_t error, std::string_view call);
Status check(CUresult result, std::string_view call);

/// Makes `device` current for a scope; leaves the caller's choice as it was.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device) {
    if (cudaGetDevice(&before_) != cudaSuccess) before_ = -1;
    if (before_ != device) (void)cudaSetDevice(device);
    changed_ = before_ != device;
  }
  ~CurrentDevice() {
    if (changed_ && before_ >= 0) (void)cudaSetDevice(before_);
  }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int before_ = -1;
  bool changed_ = false;
};

/// The driver's functions, looked up at run time so that programs also start where there is no driver.
struct Driver {
  decltype(&cuPointerGetAttribute) pointer_attribute = nullptr;
  decltype(&cuPointerGetAttributes) pointer_attributes = nullptr;
  decltype(&cuMemGetAddressRange) address_range = nullptr;
  decltype(&cuMemCreate) create = nullptr;
  decltype(&cuMemGetAllocationGranularity) granularity = nullptr;
  decltype(&cuMemRetainAllocationHandle) retain_handle = nullptr;
  decltype(&cuMemGetAllocationPropertiesFromHandle) handle_properties = nullptr;
  decltype(&cuMemExportToShareableHandle) export_handle = nullptr;
  decltype(&cuMemImportFromShareableHandle) import_handle = nullptr;
  decltype(&cuMemAddressReserve) reserve = nullptr;
  decltype(&cuMemAddressFree) unreserve = nullptr;
  decltype(&cuMemMap) map = nullptr;
  decltype(&cuMemUnmap) unmap = nullptr;
  decltype(&cuMemSetAccess) set_access = nullptr;
  decltype(&cuMemRelease) release = nullptr;
  decltype(&cuStreamWriteValue32) write_value = nullptr;
  decltype(&cuStreamGetId) stream_id = nullptr;
  decltype(&cuGetErrorString) error_string = nullptr;

  /// Returns the table of this process; functions that the installed driver lacks stay null.
  static const Driver& get();
};

}  // namespace sennit::device
