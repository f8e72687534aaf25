// The functions of MPI that are measured, of one ABI. There are two sets in a process that has sennit preloaded:
// those that a program of this name would reach, and those of the MPI itself.
#pragma once

#include <dlfcn.h>

#include <string>
#include <type_traits>

#include "bench/mpi/operation.h"
#include "shim/mpi/abi.h"

namespace sennit::bench::mpi {

template <class Abi>
struct Functions {
  using Comm = typename Abi::Comm;
  using Datatype = typename Abi::Datatype;
  using Info = typename Abi::Info;
  using Op = typename Abi::Op;
  using Request = typename Abi::Request;
  using Status = typename Abi::Status;
  using Win = typename Abi::Win;

  int (*init)(int*, char***);
  int (*finalize)();
  int (*send)(const void*, int, Datatype, int, int, Comm);
  int (*recv)(void*, int, Datatype, int, int, Comm, Status*);
  int (*isend)(const void*, int, Datatype, int, int, Comm, Request*);
  int (*irecv)(void*, int, Datatype, int, int, Comm, Request*);
  int (*wait)(Request*, Status*);
  int (*waitall)(int, Request*, Status*);
  int (*send_init)(const void*, int, Datatype, int, int, Comm, Request*);
  int (*recv_init)(void*, int, Datatype, int, int, Comm, Request*);
  int (*start)(Request*);
  int (*request_free)(Request*);
  int (*barrier)(Comm);
  int (*allreduce)(const void*, void*, int, Datatype, Op, Comm);
  int (*iallreduce)(const void*, void*, int, Datatype, Op, Comm, Request*);
  int (*reduce)(const void*, void*, int, Datatype, Op, int, Comm);
  int (*reduce_scatter_block)(const void*, void*, int, Datatype, Op, Comm);
  int (*reduce_scatter)(const void*, void*, const int*, Datatype, Op, Comm);
  int (*scan)(const void*, void*, int, Datatype, Op, Comm);
  int (*exscan)(const void*, void*, int, Datatype, Op, Comm);
  int (*bcast)(void*, int, Datatype, int, Comm);
  int (*allgather)(const void*, int, Datatype, void*, int, Datatype, Comm);
  int (*allgatherv)(const void*, int, Datatype, void*, const int*, const int*, Datatype, Comm);
  int (*gather)(const void*, int, Datatype, void*, int, Datatype, int, Comm);
  int (*gatherv)(const void*, int, Datatype, void*, const int*, const int*, Datatype, int, Comm);
  int (*scatterv)(const void*, const int*, const int*, Datatype, void*, int, Datatype, int, Comm);
  int (*scatter)(const void*, int, Datatype, void*, int, Datatype, int, Comm);
  int (*alltoall)(const void*, int, Datatype, void*, int, Datatype, Comm);
  int (*alltoallv)(const void*, const int*, const int*, Datatype, void*, const int*, const int*, Datatype, Comm);
  int (*info_create)(Info*);
  int (*info_free)(Info*);
  int (*win_create)(void*, shim::mpi::Aint, int, Info, Comm, Win*);
  int (*win_free)(Win*);
  int (*win_fence)(int, Win);
  int (*put)(const void*, int, Datatype, int, shim::mpi::Aint, int, Datatype, Win);
  int (*get)(void*, int, Datatype, int, shim::mpi::Aint, int, Datatype, Win);
  int (*accumulate)(const void*, int, Datatype, int, shim::mpi::Aint, int, Datatype, Op, Win);
  int (*get_library_version)(char*, int*);
  // Since MPI 4.0; null where the MPI is older.
  int (*allreduce_init)(const void*, void*, int, Datatype, Op, Comm, Info, Request*);
  int (*psend_init)(const void*, int, shim::mpi::Count, Datatype, int, int, Comm, Info, Request*);
  int (*precv_init)(void*, int, shim::mpi::Count, Datatype, int, int, Comm, Info, Request*);
  int (*pready)(int, Request);

  /// The function that an operation needs and this MPI has not; empty where it can be called.
  std::string lacks(Operation operation) const {
    if (operation == Operation::allreduce_init && allreduce_init == nullptr) return "MPI_Allreduce_init";
    if (operation == Operation::partitioned && psend_init == nullptr) return "MPI_Psend_init";
    return {};
  }
};

/// Looks every member up in `library` (RTLD_DEFAULT: as the program itself would). The name of the first one of
/// MPI 3.0 that is missing; empty where none is.
template <class Abi>
std::string find(void* library, Functions<Abi>& functions) {
  std::string missing;
  const auto set_if_there = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
  };
  const auto set = [&](auto& function, const char* name) {
    set_if_there(function, name);
    if (function == nullptr && missing.empty()) missing = name;
  };
  set(functions.init, "MPI_Init");
  set(functions.finalize, "MPI_Finalize");
  set(functions.send, "MPI_Send");
  set(functions.recv, "MPI_Recv");
  set(functions.isend, "MPI_Isend");
  set(functions.irecv, "MPI_Irecv");
  set(functions.wait, "MPI_Wait");
  set(functions.waitall, "MPI_Waitall");
  set(functions.send_init, "MPI_Send_init");
  set(functions.recv_init, "MPI_Recv_init");
  set(functions.start, "MPI_Start");
  set(functions.request_free, "MPI_Request_free");
  set(functions.barrier, "MPI_Barrier");
  set(functions.allreduce, "MPI_Allreduce");
  set(functions.iallreduce, "MPI_Iallreduce");
  set(functions.reduce, "MPI_Reduce");
  set(functions.reduce_scatter_block, "MPI_Reduce_scatter_block");
  set(functions.reduce_scatter, "MPI_Reduce_scatter");
  set(functions.scan, "MPI_Scan");
  set(functions.exscan, "MPI_Exscan");
  set(functions.bcast, "MPI_Bcast");
  set(functions.allgather, "MPI_Allgather");
  set(functions.allgatherv, "MPI_Allgatherv");
  set(functions.gather, "MPI_Gather");
  set(functions.gatherv, "MPI_Gatherv");
  set(functions.scatterv, "MPI_Scatterv");
  set(functions.scatter, "MPI_Scatter");
  set(functions.alltoall, "MPI_Alltoall");
  set(functions.alltoallv, "MPI_Alltoallv");
  set(functions.info_create, "MPI_Info_create");
  set(functions.info_free, "MPI_Info_free");
  set(functions.win_create, "MPI_Win_create");
  set(functions.win_free, "MPI_Win_free");
  set(functions.win_fence, "MPI_Win_fence");
  set(functions.put, "MPI_Put");
  set(functions.get, "MPI_Get");
  set(functions.accumulate, "MPI_Accumulate");
  set(functions.get_library_version, "MPI_Get_library_version");
  set_if_there(functions.allreduce_init, "MPI_Allreduce_init");
  set_if_there(functions.psend_init, "MPI_Psend_init");
  set_if_there(functions.precv_init, "MPI_Precv_init");
  set_if_there(functions.pready, "MPI_Pready");
  return missing;
}

}  // namespace sennit::bench::mpi
