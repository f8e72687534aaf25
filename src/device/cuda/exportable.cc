#include "device/cuda/exportable.h"

#include "device/cuda/check.h"

namespace sennit::device {

Result<Memory> create_exportable(int device, std::size_t bytes) {
  const Driver& driver = Driver::get();
  if (driver.create == nullptr || driver.granularity == nullptr || driver.reserve == nullptr || driver.map == nullptr)
    return Status(Code::unsupported, "the driver has no cuMemCreate", {}, "Update the NVIDIA driver");
  const CurrentDevice current(device);
  (void)cudaFree(nullptr);  // the driver calls below need the device's context to exist

  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  std::size_t granularity = 0;
  if (Status status = check(driver.granularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                            "ask for the granularity");
      !status)
    return status;
  const std::size_t whole = (bytes + granularity - 1) / granularity * granularity;
  CUmemGenericAllocationHandle handle{};
  if (Status status = check(driver.create(&handle, whole, &properties, 0), "create GPU memory"); !status)
    return status;
  CUdeviceptr base = 0;
  CUresult result = driver.reserve(&base, whole, 0, 0, 0);
  if (result == CUDA_SUCCESS) {
    result = driver.map(base, whole, 0, handle, 0);
    if (result != CUDA_SUCCESS) (void)driver.unreserve(base, whole);
  }
  (void)driver.release(handle);  // the mapping keeps the memory alive
  if (Status status = check(result, "map GPU memory"); !status) return status;
  Memory memory(reinterpret_cast<void*>(base), whole, [base, whole](void*) {
    (void)Driver::get().unmap(base, whole);
    (void)Driver::get().unreserve(base, whole);
  });
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, device}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  if (Status status = check(driver.set_access(base, whole, &access, 1), "open GPU memory"); !status) return status;
  return memory;
}

}  // namespace sennit::device
