// A made-up MPI that packs and unpacks elements of kGaps: 8 bytes from byte 4 on, of every 16.
#pragma once

#include <cstring>

#include "made_up_mpi.h"

namespace sennit::shim::mpi {

class GapsMpi : public MadeUpMpi {
 public:
  int pack(const void* buffer, Handle, std::int64_t bytes, void* packed) const override {
    for (std::int64_t i = 0; i < bytes / 8; ++i)
      std::memcpy(static_cast<std::byte*>(packed) + 8 * i, static_cast<const std::byte*>(buffer) + 16 * i + 4, 8);
    return 0;
  }
  int unpack(const void* packed, std::int64_t bytes, void* buffer, Handle) const override {
    for (std::int64_t i = 0; i < bytes / 8; ++i)
      std::memcpy(static_cast<std::byte*>(buffer) + 16 * i + 4, static_cast<const std::byte*>(packed) + 8 * i, 8);
    return 0;
  }
};

}  // namespace sennit::shim::mpi
