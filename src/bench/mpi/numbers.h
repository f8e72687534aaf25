// Names what messages consist of and how they are reduced, by MPI's names or by sennit's.
#pragma once

#include <string>

#include "device/reduction.h"
#include "shim/mpi/abi/abi.h"

namespace sennit::bench::mpi {

struct Numbers {
  device::Reduction reduction;  ///< as a CPU does it, to know what is right
  std::string type;             ///< as it was asked for: "float32", "char"
  const shim::mpi::Predefined* handle = nullptr;
  const shim::mpi::Predefined* op = nullptr;
};

/// `type`: "float32", or a name of MPI's, "char" and "MPI_CHAR" alike. Errors: invalid_argument.
Result<Numbers> parse_numbers(const std::string& type, const std::string& op);

/// Returns the first predefined handle that means this to sennit; null where MPI has none.
const shim::mpi::Predefined* predefined(std::string_view kind, std::string_view meaning);

}  // namespace sennit::bench::mpi
