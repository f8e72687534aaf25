// Stands in for GPU memory that a program gave for its buffered sends: a process has one such buffer at a time.
#pragma once

#include <cstddef>
#include <memory>

namespace sennit::shim::mpi {

struct AttachedBuffer {
  void* given = nullptr;              ///< the program's
  std::unique_ptr<std::byte[]> here;  ///< what the MPI has; null: the program's own, or none
};

}  // namespace sennit::shim::mpi
