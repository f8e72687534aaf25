// Wraps MPI_Buffer_attach and MPI_Buffer_detach: a program may give GPU memory for its buffered sends, which the MPI
// writes itself. The MPI gets as much host memory, and the program gets its own back.
#pragma once

#include <cstring>
#include <limits>
#include <memory>
#include <new>

#include "shim/mpi/entry/wrappers.h"

namespace sennit::shim::mpi::wrappers {

template <class Int, class CallReal>
int attach_buffer(DropIn& here, void* buffer, Int size, const CallReal& real) {
  if (buffer == nullptr || size <= 0 || !here.memories->is_device(buffer)) return real(buffer, size);
  AttachedBuffer made{buffer, std::unique_ptr<std::byte[]>(new (std::nothrow) std::byte[std::size_t(size)])};
  if (made.here == nullptr)
    return here.reporting.fail("MPI_Buffer_attach", kNoHandle,
                               Status(Code::out_of_memory, "no host memory of its size"));
  const int code = real(made.here.get(), size);
  if (code == 0) here.staging.attached_buffer() = std::move(made);
  return code;
}

template <class Int, class CallReal>
int detach_buffer(DropIn& here, void* address, Int* size, const CallReal& real) {
  here.progress.flush_buffered();
  const int code = real(address, size);
  void* detached = nullptr;
  if (code == 0) std::memcpy(&detached, address, sizeof detached);
  AttachedBuffer& attached = here.staging.attached_buffer();
  if (detached == nullptr || detached != attached.here.get()) return code;
  std::memcpy(address, &attached.given, sizeof detached);
  attached = {};
  return code;
}

template <class Abi>
int Buffer_attach(void* buffer, int size) {
  return attach_buffer(drop_in<Abi>(), buffer, size, Real<Abi>::of(&Buffer_attach<Abi>, Entry::Buffer_attach));
}
template <class Abi>
int Buffer_attach_c(void* buffer, Count size) {
  return attach_buffer(drop_in<Abi>(), buffer, size, Real<Abi>::of(&Buffer_attach_c<Abi>, Entry::Buffer_attach_c));
}
template <class Abi>
int Buffer_detach(void* address, int* size) {
  return detach_buffer(drop_in<Abi>(), address, size, Real<Abi>::of(&Buffer_detach<Abi>, Entry::Buffer_detach));
}
template <class Abi>
int Buffer_detach_c(void* address, Count* size) {
  return detach_buffer(drop_in<Abi>(), address, size, Real<Abi>::of(&Buffer_detach_c<Abi>, Entry::Buffer_detach_c));
}

/// Stands in for the function with large counts where the MPI lacks it.
template <class Abi>
int Buffer_attach_narrowed(void* buffer, Count size) {
  if (size > std::numeric_limits<int>::max()) return drop_in<Abi>().mpi->fail(kNoHandle, kErrCount);
  return Current<Abi>::of(&Buffer_attach<Abi>, Entry::Buffer_attach)(buffer, static_cast<int>(size));
}
template <class Abi>
int Buffer_detach_narrowed(void* address, Count* size) {
  int narrow = 0;
  const int code = Current<Abi>::of(&Buffer_detach<Abi>, Entry::Buffer_detach)(address, &narrow);
  *size = narrow;
  return code;
}

}  // namespace sennit::shim::mpi::wrappers
