/* A program that starts ranks of another job, and communicates with them, from GPU memory at its own end: the others
 * may have no drop-in. test_c_programs.py compiles it for each MPI. */
#define _GNU_SOURCE
#include "c_ranks.h"

enum { kLength = 10000, kSpawned = 2 };

static int *mine, *theirs;

static void came(int value, const char* what) {
  for (int i = 0; i < kLength; ++i) check(theirs[i] == value, what, theirs[i]);
}

static void use(MPI_Comm comm) {
  int own, all, one = 1, sum = 0;
  MPI_Comm_rank(comm, &own);
  MPI_Comm_size(comm, &all);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  check(sum == all, "a sum of host memory", sum);
  for (int round = 0; round < 2; ++round) {
    const int before = (own + all - 1) % all, behind = (own + 1) % all;
    MPI_Request requests[2];
    for (int i = 0; i < kLength; ++i) mine[i] = own + 1;
    MPI_Allreduce(mine, theirs, kLength, MPI_INT, MPI_SUM, comm);
    came(all * (all + 1) / 2, "a sum");
    /* A receive that is open in a call of all ranks, which a rank of this job may let wait for its message. */
    MPI_Irecv(theirs, kLength, MPI_INT, before, 1, comm, &requests[0]);
    if (own % 2 == 0) MPI_Send(mine, kLength, MPI_INT, behind, 1, comm);
    MPI_Barrier(comm);
    if (own % 2 != 0) MPI_Send(mine, kLength, MPI_INT, behind, 1, comm);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    came(before + 1, "a message");
    MPI_Iallreduce(mine, theirs, kLength, MPI_INT, MPI_MAX, comm, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    came(all, "a maximum");
  }
  MPI_Win window;
  int number = -1;
  MPI_Win_create(&number, sizeof number, sizeof number, MPI_INFO_NULL, comm, &window);
  MPI_Win_fence(0, window);
  MPI_Put(&own, 1, MPI_INT, (own + 1) % all, 0, 1, MPI_INT, window);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
  check(number == (own + all - 1) % all, "a window", number);
}

int main(int argc, char** argv) {
  MPI_Comm parent, between, all;
  char* no_arguments[] = {NULL};
  begin(&argc, &argv);
  mine = on_gpu(kLength * sizeof(int));
  theirs = on_gpu(kLength * sizeof(int));
  MPI_Comm_get_parent(&parent);
  between = parent;
  if (parent == MPI_COMM_NULL)
    MPI_Comm_spawn(argv[0], no_arguments, kSpawned, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between, MPI_ERRCODES_IGNORE);
  MPI_Intercomm_merge(between, parent != MPI_COMM_NULL, &all);
  use(all);
  use(MPI_COMM_WORLD);
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&between);
  if (parent == MPI_COMM_NULL) return end();
  MPI_Finalize();
  return 0;
}
