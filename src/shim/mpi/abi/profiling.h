// Holds the functions of the program's MPI library that the drop-in itself calls, found by name: it is generated from
// functions.txt. They are the profiling interface's (PMPI_...), so that no other tool sees these calls.
#pragma once

#include <dlfcn.h>

#include <string>
#include <type_traits>

#include "shim/mpi/abi/prototypes.h"

namespace sennit::shim::mpi {

#include "lookups.inc"

/// Every member found; false where the library lacks one.
template <class Functions>
bool find(void* library, Functions& functions) {
  bool all = true;
  functions.each([&](auto& function, const char* name, bool) {
    std::string symbol("PMPI_");  // in two steps: gcc 12 warns of the sum, without reason
    symbol += name;
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol.c_str()));
    all = all && function != nullptr;
  });
  return all;
}

}  // namespace sennit::shim::mpi
