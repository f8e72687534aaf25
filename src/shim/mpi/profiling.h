// The functions of the program's MPI library that the drop-in itself calls, found by name.
#pragma once

#include <dlfcn.h>

#include <type_traits>

namespace sennit::shim::mpi {

/// The profiling interface's functions (PMPI_...) that the drop-in calls itself: no other tool sees these calls.
template <class Abi>
struct Profiling {
  using Comm = typename Abi::Comm;
  using Datatype = typename Abi::Datatype;
  using Errhandler = typename Abi::Errhandler;
  using Group = typename Abi::Group;
  using Info = typename Abi::Info;
  using Op = typename Abi::Op;
  using Request = typename Abi::Request;
  using Status = typename Abi::Status;

  int (*comm_rank)(Comm, int*);
  int (*comm_size)(Comm, int*);
  int (*comm_test_inter)(Comm, int*);
  int (*comm_get_name)(Comm, char*, int*);
  int (*comm_get_attr)(Comm, int, void*, int*);
  int (*comm_remote_size)(Comm, int*);
  int (*comm_call_errhandler)(Comm, int);
  int (*comm_get_errhandler)(Comm, Errhandler*);
  int (*comm_set_errhandler)(Comm, Errhandler);
  int (*errhandler_free)(Errhandler*);
  int (*abort)(Comm, int);
  int (*topo_test)(Comm, int*);
  int (*cartdim_get)(Comm, int*);
  int (*graph_neighbors_count)(Comm, int, int*);
  int (*dist_graph_neighbors_count)(Comm, int*, int*, int*);
  int (*type_size_x)(Datatype, Count*);
  int (*type_get_extent)(Datatype, Aint*, Aint*);
  int (*type_get_true_extent)(Datatype, Aint*, Aint*);
  int (*type_get_envelope)(Datatype, int*, int*, int*, int*);
  int (*type_get_contents)(Datatype, int, int, int, int*, Aint*, Datatype*);
  int (*type_dup)(Datatype, Datatype*);
  int (*type_free)(Datatype*);
  int (*type_contiguous)(int, Datatype, Datatype*);
  int (*type_commit)(Datatype*);
  int (*allgather)(const void*, int, Datatype, void*, int, Datatype, Comm);
  int (*allgatherv)(const void*, int, Datatype, void*, const int*, const int*, Datatype, Comm);
  int (*gather)(const void*, int, Datatype, void*, int, Datatype, int, Comm);
  int (*scatter)(const void*, int, Datatype, void*, int, Datatype, int, Comm);
  int (*alltoallv)(const void*, const int*, const int*, Datatype, void*, const int*, const int*, Datatype, Comm);
  int (*sendrecv)(const void*, int, Datatype, int, int, void*, int, Datatype, int, int, Comm, Status*);
  int (*iallgather)(const void*, int, Datatype, void*, int, Datatype, Comm, Request*);
  int (*ibarrier)(Comm, Request*);
  int (*comm_split)(Comm, int, int, Comm*);
  int (*comm_free)(Comm*);
  int (*comm_create_keyval)(int (*)(Comm, int, void*, void*, void*, int*), int (*)(Comm, int, void*, void*), int*,
                            void*);
  int (*comm_set_attr)(Comm, int, void*);
  int (*comm_free_keyval)(int*);
  int (*allreduce)(const void*, void*, int, Datatype, Op, Comm);
  int (*reduce)(const void*, void*, int, Datatype, Op, int, Comm);
  int (*reduce_local)(const void*, void*, int, Datatype, Op);
  int (*bcast)(void*, int, Datatype, int, Comm);
  int (*get_count)(const Status*, Datatype, int*);
  int (*get_elements_x)(const Status*, Datatype, Count*);
  int (*test_cancelled)(const Status*, int*);
  int (*status_set_elements_x)(Status*, Datatype, Count);
  int (*request_get_status)(Request, int*, Status*);
  int (*test)(Request*, int*, Status*);
  int (*isend)(const void*, int, Datatype, int, int, Comm, Request*);
  int (*irecv)(void*, int, Datatype, int, int, Comm, Request*);
  int (*cancel)(Request*);
  int (*request_free)(Request*);
  int (*iprobe)(int, int, Comm, int*, Status*);
  int (*grequest_start)(int (*)(void*, Status*), int (*)(void*), int (*)(void*, int), void*, Request*);
  int (*grequest_complete)(Request);
  int (*comm_group)(Comm, Group*);
  int (*comm_remote_group)(Comm, Group*);
  int (*group_size)(Group, int*);
  int (*group_translate_ranks)(Group, int, const int*, Group, int*);
  int (*group_free)(Group*);
  int (*info_dup)(Info, Info*);
  int (*info_free)(Info*);
  int (*pack)(const void*, int, Datatype, void*, int, int*, Comm);
  int (*unpack)(const void*, int, int*, void*, int, Datatype, Comm);
};

/// Every member found; false where the library lacks one.
template <class Abi>
bool find(void* library, Profiling<Abi>& functions) {
  bool all = true;
  const auto set = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    all = all && function != nullptr;
  };
  set(functions.comm_rank, "PMPI_Comm_rank");
  set(functions.comm_size, "PMPI_Comm_size");
  set(functions.comm_get_name, "PMPI_Comm_get_name");
  set(functions.comm_get_attr, "PMPI_Comm_get_attr");
  set(functions.comm_test_inter, "PMPI_Comm_test_inter");
  set(functions.comm_remote_size, "PMPI_Comm_remote_size");
  set(functions.comm_call_errhandler, "PMPI_Comm_call_errhandler");
  set(functions.comm_get_errhandler, "PMPI_Comm_get_errhandler");
  set(functions.comm_set_errhandler, "PMPI_Comm_set_errhandler");
  set(functions.errhandler_free, "PMPI_Errhandler_free");
  set(functions.abort, "PMPI_Abort");
  set(functions.topo_test, "PMPI_Topo_test");
  set(functions.cartdim_get, "PMPI_Cartdim_get");
  set(functions.graph_neighbors_count, "PMPI_Graph_neighbors_count");
  set(functions.dist_graph_neighbors_count, "PMPI_Dist_graph_neighbors_count");
  set(functions.type_size_x, "PMPI_Type_size_x");
  set(functions.type_get_extent, "PMPI_Type_get_extent");
  set(functions.type_get_true_extent, "PMPI_Type_get_true_extent");
  set(functions.type_get_envelope, "PMPI_Type_get_envelope");
  set(functions.type_get_contents, "PMPI_Type_get_contents");
  set(functions.type_dup, "PMPI_Type_dup");
  set(functions.type_free, "PMPI_Type_free");
  set(functions.type_contiguous, "PMPI_Type_contiguous");
  set(functions.type_commit, "PMPI_Type_commit");
  set(functions.allgather, "PMPI_Allgather");
  set(functions.allgatherv, "PMPI_Allgatherv");
  set(functions.gather, "PMPI_Gather");
  set(functions.scatter, "PMPI_Scatter");
  set(functions.alltoallv, "PMPI_Alltoallv");
  set(functions.sendrecv, "PMPI_Sendrecv");
  set(functions.iallgather, "PMPI_Iallgather");
  set(functions.ibarrier, "PMPI_Ibarrier");
  set(functions.comm_split, "PMPI_Comm_split");
  set(functions.comm_free, "PMPI_Comm_free");
  set(functions.comm_create_keyval, "PMPI_Comm_create_keyval");
  set(functions.comm_set_attr, "PMPI_Comm_set_attr");
  set(functions.comm_free_keyval, "PMPI_Comm_free_keyval");
  set(functions.allreduce, "PMPI_Allreduce");
  set(functions.reduce, "PMPI_Reduce");
  set(functions.reduce_local, "PMPI_Reduce_local");
  set(functions.bcast, "PMPI_Bcast");
  set(functions.get_count, "PMPI_Get_count");
  set(functions.get_elements_x, "PMPI_Get_elements_x");
  set(functions.test_cancelled, "PMPI_Test_cancelled");
  set(functions.status_set_elements_x, "PMPI_Status_set_elements_x");
  set(functions.request_get_status, "PMPI_Request_get_status");
  set(functions.test, "PMPI_Test");
  set(functions.isend, "PMPI_Isend");
  set(functions.irecv, "PMPI_Irecv");
  set(functions.cancel, "PMPI_Cancel");
  set(functions.request_free, "PMPI_Request_free");
  set(functions.iprobe, "PMPI_Iprobe");
  set(functions.grequest_start, "PMPI_Grequest_start");
  set(functions.grequest_complete, "PMPI_Grequest_complete");
  set(functions.comm_group, "PMPI_Comm_group");
  set(functions.comm_remote_group, "PMPI_Comm_remote_group");
  set(functions.group_size, "PMPI_Group_size");
  set(functions.group_translate_ranks, "PMPI_Group_translate_ranks");
  set(functions.group_free, "PMPI_Group_free");
  set(functions.info_dup, "PMPI_Info_dup");
  set(functions.info_free, "PMPI_Info_free");
  set(functions.pack, "PMPI_Pack");
  set(functions.unpack, "PMPI_Unpack");
  return all;
}

}  // namespace sennit::shim::mpi
