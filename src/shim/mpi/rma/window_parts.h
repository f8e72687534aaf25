// Describes the buffers of one-sided calls, as the halves of windows need them.
#pragma once

#include <cstring>

#include "shim/mpi/call/call.h"
#include "shim/mpi/call/regions.h"

namespace sennit::shim::mpi {

inline Result<Region> region_of(const Mpi& mpi, const Part& part) {
  return Region::make(mpi, part.significant ? part.count() : 0, part.elements.type);
}

inline std::byte* address_of(const Part& part) {
  return const_cast<std::byte*>(static_cast<const std::byte*>(part.address));
}

/// Returns the address of a buffer's first data, in the order of addresses.
inline const std::byte* data_of(const Mpi& mpi, const Part& part) {
  const auto span = span_of(mpi, part.elements);
  return address_of(part) + (span ? span->first : 0);
}

/// Is a Copy within this process's own memory, where no GPU holds it.
inline Status plain(void* to, const void* from, std::uint64_t bytes) {
  std::memcpy(to, from, bytes);
  return {};
}

}  // namespace sennit::shim::mpi
