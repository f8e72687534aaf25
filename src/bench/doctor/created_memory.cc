#include "bench/doctor/created_memory.h"

#include "device/cuda/check.h"

namespace sennit::bench::doctor {

Result<device::Memory> create_exportable(int device, std::size_t bytes) {
  const device::Driver& driver = device::Driver::get();
  if (driver.create == nullptr || driver.granularity == nullptr || driver.reserve == nullptr || driver.map == nullptr)
    return Status(Code::unsupported, "the driver has no cuMemCreate", {}, "Update the NVIDIA driver");
  const device::CurrentDevice current(device);
  (void)cudaFree(nullptr);  // the driver calls below need the device's context to exist

  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  std::size_t granularity = 0;
  if (Status status = device::check(driver.granularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                                    "ask for the granularity");
      !status)
    return status;
  const std::size_t whole = (bytes + granularity - 1) / granularity * granularity;
  CUmemGenericAllocationHandle handle{};
  if (Status status = device::check(driver.create(&handle, whole, &properties, 0), "create GPU memory"); !status)
    return status;
  CUdeviceptr base = 0;
  CUresult result = driver.reserve(&base, whole, 0, 0, 0);
  if (result == CUDA_SUCCESS) {
    result = driver.map(base, whole, 0, handle, 0);
    if (result != CUDA_SUCCESS) (void)driver.unreserve(base, whole);
  }
  (void)driver.release(handle);  // the mapping keeps the memory alive
  if (Status status = device::check(result, "map GPU memory"); !status) return status;
  device::Memory memory(reinterpret_cast<void*>(base), whole, [base, whole](void*) {
    (void)device::Driver::get().unmap(base, whole);
    (void)device::Driver::get().unreserve(base, whole);
  });
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, device}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  if (Status status = device::check(driver.set_access(base, whole, &access, 1), "open GPU memory"); !status)
    return status;
  return memory;
}

}  // namespace sennit::bench::doctor
