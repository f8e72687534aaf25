// Holds a handle of MPI, of whatever ABI, as a number: MPICH's are ints, the others' pointers.
#pragma once

#include <cstdint>
#include <type_traits>

namespace sennit::shim::mpi {

using Handle = std::uint64_t;
/// Stands for a handle that a function does not have.
inline constexpr Handle kNoHandle = ~Handle{0};

using Aint = std::int64_t;
using Count = std::int64_t;
using Offset = std::int64_t;

template <class H>
Handle to_handle(H handle) {
  if constexpr (std::is_pointer_v<H>)
    return reinterpret_cast<std::uintptr_t>(handle);
  else
    return static_cast<std::uint32_t>(handle);
}

template <class H>
H from_handle(Handle handle) {
  if constexpr (std::is_pointer_v<H>)
    return reinterpret_cast<H>(handle);
  else
    return static_cast<H>(static_cast<std::uint32_t>(handle));
}

}  // namespace sennit::shim::mpi
