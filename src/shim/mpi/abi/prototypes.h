// Declares the types of MPI's functions, of each ABI: it is generated from functions.txt.
#pragma once

#include "shim/mpi/abi/table.h"

namespace sennit::shim::mpi {

/// The program's own functions that MPI calls, as far as anybody here calls MPI with some.
template <class Abi>
struct Callbacks {
  using Comm = typename Abi::Comm;
  using Status = typename Abi::Status;
  using Comm_copy_attr_function = int(Comm, int, void*, void*, void*, int*);
  using Comm_delete_attr_function = int(Comm, int, void*, void*);
  using Grequest_query_function = int(void*, Status*);
  using Grequest_free_function = int(void*);
  using Grequest_cancel_function = int(void*, int);
};

template <class Abi, Entry entry>
struct Prototype;

#include "prototypes.inc"

template <class Abi, Entry entry>
using FunctionOf = typename Prototype<Abi, entry>::Type;

}  // namespace sennit::shim::mpi
