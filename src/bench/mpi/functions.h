// The functions of MPI that are measured, of one ABI. There are two sets in a process that has sennit preloaded:
// those that a program of this name would reach, and those of the MPI itself.
#pragma once

#include <dlfcn.h>

#include <string>
#include <type_traits>

#include "bench/mpi/operation.h"
#include "shim/mpi/abi/abi.h"

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

  /// One collective in its three forms, which differ in their last parameters. The persistent one is null where the
  /// MPI is older than 4.0.
  template <class... Arguments>
  struct Collective {
    int (*blocking)(Arguments...);
    int (*nonblocking)(Arguments..., Request*);
    int (*persistent)(Arguments..., Info, Request*);
  };

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
  Collective<Comm> barrier;
  Collective<const void*, void*, int, Datatype, Op, Comm> allreduce;
  Collective<const void*, void*, int, Datatype, Op, int, Comm> reduce;
  Collective<const void*, void*, int, Datatype, Op, Comm> reduce_scatter_block;
  Collective<const void*, void*, const int*, Datatype, Op, Comm> reduce_scatter;
  Collective<const void*, void*, int, Datatype, Op, Comm> scan;
  Collective<const void*, void*, int, Datatype, Op, Comm> exscan;
  Collective<void*, int, Datatype, int, Comm> bcast;
  Collective<const void*, int, Datatype, void*, int, Datatype, Comm> allgather;
  Collective<const void*, int, Datatype, void*, const int*, const int*, Datatype, Comm> allgatherv;
  Collective<const void*, int, Datatype, void*, int, Datatype, int, Comm> gather;
  Collective<const void*, int, Datatype, void*, const int*, const int*, Datatype, int, Comm> gatherv;
  Collective<const void*, const int*, const int*, Datatype, void*, int, Datatype, int, Comm> scatterv;
  Collective<const void*, int, Datatype, void*, int, Datatype, int, Comm> scatter;
  Collective<const void*, int, Datatype, void*, int, Datatype, Comm> alltoall;
  Collective<const void*, const int*, const int*, Datatype, void*, const int*, const int*, Datatype, Comm> alltoallv;
  Collective<const void*, const int*, const int*, const Datatype*, void*, const int*, const int*, const Datatype*,
             Comm>
      alltoallw;
  Collective<const void*, int, Datatype, void*, int, Datatype, Comm> neighbor_allgather, neighbor_alltoall;
  Collective<const void*, int, Datatype, void*, const int*, const int*, Datatype, Comm> neighbor_allgatherv;
  Collective<const void*, const int*, const int*, Datatype, void*, const int*, const int*, Datatype, Comm>
      neighbor_alltoallv;
  Collective<const void*, const int*, const shim::mpi::Aint*, const Datatype*, void*, const int*,
             const shim::mpi::Aint*, const Datatype*, Comm>
      neighbor_alltoallw;
  int (*dist_graph_create_adjacent)(Comm, int, const int*, const int*, int, const int*, const int*, Info, int, Comm*);
  int (*comm_free)(Comm*);
  int (*info_create)(Info*);
  int (*info_free)(Info*);
  int (*win_create)(void*, shim::mpi::Aint, int, Info, Comm, Win*);
  int (*win_free)(Win*);
  int (*win_fence)(int, Win);
  int (*put)(const void*, int, Datatype, int, shim::mpi::Aint, int, Datatype, Win);
  int (*get)(void*, int, Datatype, int, shim::mpi::Aint, int, Datatype, Win);
  int (*accumulate)(const void*, int, Datatype, int, shim::mpi::Aint, int, Datatype, Op, Win);
  int (*get_accumulate)(const void*, int, Datatype, void*, int, Datatype, int, shim::mpi::Aint, int, Datatype, Op,
                        Win);
  int (*fetch_and_op)(const void*, void*, Datatype, int, shim::mpi::Aint, Op, Win);
  int (*compare_and_swap)(const void*, const void*, void*, Datatype, int, shim::mpi::Aint, Win);
  int (*get_library_version)(char*, int*);
  // Since MPI 4.0; null where the MPI is older.
  int (*psend_init)(const void*, int, shim::mpi::Count, Datatype, int, int, Comm, Info, Request*);
  int (*precv_init)(void*, int, shim::mpi::Count, Datatype, int, int, Comm, Info, Request*);
  int (*pready)(int, Request);
  std::string no_persistent;  ///< the first persistent collective that is missing

  /// The function that an operation needs and this MPI has not; empty where it can be called.
  std::string lacks(const Benchmark& benchmark) const {
    if (benchmark.operation == Operation::partitioned && psend_init == nullptr) return "MPI_Psend_init";
    return benchmark.style == Style::persistent && !is_of_two(benchmark.operation) ? no_persistent : std::string();
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
  const auto set_all = [&](auto& collective, const std::string& name) {
    std::string lower = name;
    lower[0] = static_cast<char>(lower[0] - 'A' + 'a');
    set(collective.blocking, ("MPI_" + name).c_str());
    set(collective.nonblocking, ("MPI_I" + lower).c_str());
    const std::string persistent = "MPI_" + name + "_init";
    set_if_there(collective.persistent, persistent.c_str());
    if (collective.persistent == nullptr && functions.no_persistent.empty()) functions.no_persistent = persistent;
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
  set_all(functions.barrier, "Barrier");
  set_all(functions.allreduce, "Allreduce");
  set_all(functions.reduce, "Reduce");
  set_all(functions.reduce_scatter_block, "Reduce_scatter_block");
  set_all(functions.reduce_scatter, "Reduce_scatter");
  set_all(functions.scan, "Scan");
  set_all(functions.exscan, "Exscan");
  set_all(functions.bcast, "Bcast");
  set_all(functions.allgather, "Allgather");
  set_all(functions.allgatherv, "Allgatherv");
  set_all(functions.gather, "Gather");
  set_all(functions.gatherv, "Gatherv");
  set_all(functions.scatterv, "Scatterv");
  set_all(functions.scatter, "Scatter");
  set_all(functions.alltoall, "Alltoall");
  set_all(functions.alltoallv, "Alltoallv");
  set_all(functions.alltoallw, "Alltoallw");
  set_all(functions.neighbor_allgather, "Neighbor_allgather");
  set_all(functions.neighbor_allgatherv, "Neighbor_allgatherv");
  set_all(functions.neighbor_alltoall, "Neighbor_alltoall");
  set_all(functions.neighbor_alltoallv, "Neighbor_alltoallv");
  set_all(functions.neighbor_alltoallw, "Neighbor_alltoallw");
  set(functions.dist_graph_create_adjacent, "MPI_Dist_graph_create_adjacent");
  set(functions.comm_free, "MPI_Comm_free");
  set(functions.info_create, "MPI_Info_create");
  set(functions.info_free, "MPI_Info_free");
  set(functions.win_create, "MPI_Win_create");
  set(functions.win_free, "MPI_Win_free");
  set(functions.win_fence, "MPI_Win_fence");
  set(functions.put, "MPI_Put");
  set(functions.get, "MPI_Get");
  set(functions.accumulate, "MPI_Accumulate");
  set(functions.get_accumulate, "MPI_Get_accumulate");
  set(functions.fetch_and_op, "MPI_Fetch_and_op");
  set(functions.compare_and_swap, "MPI_Compare_and_swap");
  set(functions.get_library_version, "MPI_Get_library_version");
  set_if_there(functions.psend_init, "MPI_Psend_init");
  set_if_there(functions.precv_init, "MPI_Precv_init");
  set_if_there(functions.pready, "MPI_Pready");
  return missing;
}

}  // namespace sennit::bench::mpi
