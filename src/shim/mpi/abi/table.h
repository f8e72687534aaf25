// Lists the functions of MPI that the drop-in stands before, and its predefined handles: it is generated from
// functions.txt and handles.txt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "shim/mpi/abi/abi.h"

namespace sennit::shim::mpi {

#include "functions.inc"
#include "handles.inc"

}  // namespace sennit::shim::mpi
