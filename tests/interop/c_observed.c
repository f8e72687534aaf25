/* Calls whose numbers test_observer.py knows, for an observer to count: of host memory, or of GPUs' with "gpu". */
#define _GNU_SOURCE
#include <string.h>

#include "c_ranks.h"

enum { kLength = 1000 };

int main(int argc, char** argv) {
  MPI_Request requests[2];
  MPI_Comm twin;
  void* memory = NULL;
  begin(&argc, &argv);
  const int gpu = argc > 1 && !strcmp(argv[1], "gpu");
  int* const mine = gpu ? on_gpu(kLength * sizeof(int)) : malloc(kLength * sizeof(int));
  int* const theirs = gpu ? on_gpu(kLength * sizeof(int)) : malloc(kLength * sizeof(int));
  for (int i = 0; i < kLength; ++i) mine[i] = rank + 1;
  for (int i = 0; i < 3; ++i) {
    MPI_Irecv(theirs, kLength, MPI_INT, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(mine, kLength, MPI_INT, right, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    check(theirs[kLength - 1] == left + 1, "a message", theirs[kLength - 1]);
  }
  for (int i = 0; i < 4; ++i)
    MPI_Sendrecv(mine, kLength, MPI_INT, right, 1, theirs, kLength, MPI_INT, left, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  MPI_Comm_dup(MPI_COMM_WORLD, &twin);
  for (int i = 0; i < 5; ++i) MPI_Allreduce(mine, theirs, kLength, MPI_INT, MPI_SUM, twin);
  check(theirs[0] == ranks * (ranks + 1) / 2, "a sum", theirs[0]);
  MPI_Pcontrol(0);
  for (int i = 0; i < 6; ++i) MPI_Barrier(twin);
  MPI_Pcontrol(1);
  MPI_Barrier(twin);
  MPI_Ibarrier(twin, &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Comm_free(&twin);
  MPI_Alloc_mem(64, MPI_INFO_NULL, &memory);
  MPI_Free_mem(memory);
  MPI_Finalize();
#if MPI_VERSION >= 5 /* others end by SIGSEGV there, alone too */
  MPI_Session session;
  if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS) MPI_Session_finalize(&session);
#endif
  if (rank == 0) fputs("all arrived\n", stdout);
  return 0;
}
