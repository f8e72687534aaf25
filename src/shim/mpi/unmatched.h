// After an agreement at MPI_Init that did not end (agreement.h), ranks have counted different numbers of collective
// calls on MPI_COMM_WORLD that do not block. Another one there would never end, so it fails, and says why.
#pragma once

#include <cstdio>

#include "shim/mpi/process.h"

namespace sennit::shim::mpi::wrappers {

template <class Abi>
bool is_world(typename Abi::Comm comm) {
  return to_handle(comm) == mpi<Abi>().comm_world();
}

template <class Abi>
int refuse(const char* function) {
  std::fprintf(stderr,
               "sennit: %s on MPI_COMM_WORLD cannot end, as some ranks run without sennit: see what was said at "
               "MPI_Init\n",
               function);
  return mpi<Abi>().fail(mpi<Abi>().comm_world(), Abi::kErrOther);
}

template <class Abi>
int Ibarrier(typename Abi::Comm comm, typename Abi::Request* request) {
  if (is_world<Abi>(comm)) return refuse<Abi>("MPI_Ibarrier");
  return Real<Abi>::of(&Ibarrier<Abi>, Entry::Ibarrier)(comm, request);
}

template <class Abi>
int Barrier_init(typename Abi::Comm comm, typename Abi::Info info, typename Abi::Request* request) {
  if (is_world<Abi>(comm)) return refuse<Abi>("MPI_Barrier_init");
  return Real<Abi>::of(&Barrier_init<Abi>, Entry::Barrier_init)(comm, info, request);
}

template <class Abi>
int Comm_idup(typename Abi::Comm comm, typename Abi::Comm* made, typename Abi::Request* request) {
  if (is_world<Abi>(comm)) return refuse<Abi>("MPI_Comm_idup");
  return Real<Abi>::of(&Comm_idup<Abi>, Entry::Comm_idup)(comm, made, request);
}

template <class Abi>
int Comm_idup_with_info(typename Abi::Comm comm, typename Abi::Info info, typename Abi::Comm* made,
                        typename Abi::Request* request) {
  if (is_world<Abi>(comm)) return refuse<Abi>("MPI_Comm_idup_with_info");
  return Real<Abi>::of(&Comm_idup_with_info<Abi>, Entry::Comm_idup_with_info)(comm, info, made, request);
}

/// The hand-written ones, by entry: by_hand.inc.
template <class Abi>
void fill_counted(void** table);

}  // namespace sennit::shim::mpi::wrappers
