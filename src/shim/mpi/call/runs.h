// Where the data of elements lies in memory, as runs of bytes: of any type and of blocks at any places, so that what
// lies between them need never be written.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "shim/mpi/call/call.h"

namespace sennit::shim::mpi {

/// Runs in the order of addresses, none next to another, and the same again `times` times, `stride` bytes apart.
struct Runs {
  std::vector<Run> each;
  std::int64_t times = 1, stride = 0;

  std::int64_t bytes() const;
  /// Calls visit(run) of each, the times spelled out, until it returns false. Whether none did.
  template <class Visit>
  bool visit(const Visit& visit) const {
    for (std::int64_t time = 0; time < times; ++time)
      for (const Run& run : each)
        if (!visit(Run{run.first + time * stride, run.bytes})) return false;
    return true;
  }
};

/// All data of the elements. None for a type or a count that MPI does not take, and elements of more than 1 GiB,
/// which only MPI itself can take apart. May throw std::bad_alloc: MPI itself marks the bytes of an element in an
/// image of it, whatever its type is made of.
std::optional<std::vector<Runs>> runs_of(const Mpi& mpi, const Elements& elements);

}  // namespace sennit::shim::mpi
