#include "device/cuda/check.h"

#include <fmt/format.h>

namespace sennit::device {

namespace {

Status failed(int number, std::string_view reason, bool memory, std::string_view call) {
  if (memory)
    return Status(Code::out_of_memory, fmt::format("{}: {}", call, reason), fmt::format("CUDA error {}", number),
                  "Free GPU memory or use smaller messages; nvidia-smi shows who holds it");
  return Status(Code::device_error, fmt::format("{}: {}", call, reason), fmt::format("CUDA error {}", number),
                "After an error inside a kernel the process must be restarted; `sennit doctor` checks the rest");
}

template <class Function>
void look_up(const char* symbol, Function& function) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult found{};
  if (cudaGetDriverEntryPointByVersion(symbol, &address, 12040, cudaEnableDefault, &found) == cudaSuccess &&
      found == cudaDriverEntryPointSuccess)
    function = reinterpret_cast<Function>(address);
  else
    (void)cudaGetLastError();
}

}  // namespace

Status check(cudaError_t error, std::string_view call) {
  if (error == cudaSuccess) return {};
  (void)cudaGetLastError();
  return failed(error, cudaGetErrorString(error), error == cudaErrorMemoryAllocation, call);
}

Status check(CUresult result, std::string_view call) {
  if (result == CUDA_SUCCESS) return {};
  const char* text = nullptr;
  if (Driver::get().error_string != nullptr) (void)Driver::get().error_string(result, &text);
  return failed(result, text != nullptr ? text : "unknown error", result == CUDA_ERROR_OUT_OF_MEMORY, call);
}

const Driver& Driver::get() {
  static const Driver driver = [] {
    Driver table;
    look_up("cuPointerGetAttribute", table.pointer_attribute);
    look_up("cuPointerGetAttributes", table.pointer_attributes);
    look_up("cuMemGetAddressRange", table.address_range);
    look_up("cuMemCreate", table.create);
    look_up("cuMemGetAllocationGranularity", table.granularity);
    look_up("cuMemRetainAllocationHandle", table.retain_handle);
    look_up("cuMemGetAllocationPropertiesFromHandle", table.handle_properties);
    look_up("cuMemExportToShareableHandle", table.export_handle);
    look_up("cuMemImportFromShareableHandle", table.import_handle);
    look_up("cuMemAddressReserve", table.reserve);
    look_up("cuMemAddressFree", table.unreserve);
    look_up("cuMemMap", table.map);
    look_up("cuMemUnmap", table.unmap);
    look_up("cuMemSetAccess", table.set_access);
    look_up("cuMemRelease", table.release);
    look_up("cuStreamWriteValue32", table.write_value);
    look_up("cuStreamGetId", table.stream_id);
    look_up("cuGetErrorString", table.error_string);
    return table;
  }();
  return driver;
}

}  // namespace sennit::device
