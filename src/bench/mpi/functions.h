// Lists the functions of MPI that are measured, of one ABI: it is generated from src/shim/mpi/abi/functions.txt.
// There are two sets in a process that has sennit preloaded: those that a program of this name would reach, and those
// of the MPI itself.
#pragma once

#include <dlfcn.h>

#include <array>
#include <string>
#include <string_view>
#include <type_traits>

#include "bench/mpi/library.h"
#include "bench/mpi/operation.h"
#include "shim/mpi/abi/profiling.h"

namespace sennit::bench::mpi {

/// Functions that an MPI of version 3 lacks are null.
template <class Abi>
struct Functions : shim::mpi::BenchFunctions<Abi> {
  std::string no_persistent;  ///< the first persistent collective that is missing

  /// Returns the function that an operation needs and this MPI has not; empty where it can be called.
  std::string lacks(const Benchmark& benchmark) const {
    if (benchmark.operation == Operation::partitioned && this->psend_init == nullptr) return "MPI_Psend_init";
    return benchmark.style == Style::persistent && !is_of_two(benchmark.operation) ? no_persistent : std::string();
  }
};

/// Looks every member up in `library` (RTLD_DEFAULT: as the program itself would). What is preloaded answers for
/// MPI_NAME in an MPI's library too, so that one is asked for PMPI_NAME, which is the same function. Returns the name
/// of the first function of MPI 3.0 that is missing; empty where all are there.
template <class Abi>
std::string find(void* library, Functions<Abi>& functions) {
  std::string missing;
  functions.each([&](auto& function, const char* name, bool newer) {
    std::string symbol("MPI_");  // in two steps: gcc 12 warns of the sum, without reason
    symbol += name;
    const std::string own = library != RTLD_DEFAULT ? "P" + symbol : symbol;
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, own.c_str()));
    if (function != nullptr) return;
    if (!newer && missing.empty()) missing = symbol;
    if (symbol.ends_with("_init") && !symbol.starts_with("MPI_P") && functions.no_persistent.empty())
      functions.no_persistent = symbol;
  });
  return missing;
}

/// Returns the MPI's own version text, in one line.
template <class Abi>
std::string library_version(const Functions<Abi>& functions) {
  std::array<char, 8192> text{};  // MPI_MAX_LIBRARY_VERSION_STRING of all is at most this
  int length = 0;
  (void)functions.get_library_version(text.data(), &length);
  return short_version(text.data());
}

}  // namespace sennit::bench::mpi
