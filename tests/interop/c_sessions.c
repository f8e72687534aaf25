/* A program that begins MPI by a session: GPU memory in messages, collectives and a window of a communicator
 * that was made from the session's group. test_c_programs.py compiles it for each MPI. */
#define _GNU_SOURCE
#include <sched.h>

#include "c_ranks.h"

#if MPI_VERSION < 4

int main(void) {
  fputs("no sessions\n", stdout);
  return 0;
}

#else

enum { kLength = 100000 };

static MPI_Comm comm;
static int *mine, *theirs;

static void clear(void) {
  for (int i = 0; i < kLength; ++i) theirs[i] = -1;
}

static void came(int value, const char* what) {
  for (int i = 0; i < kLength; ++i)
    if (theirs[i] != value) check(0, what, theirs[i]);
  clear();
}

static void messages(void) {
  MPI_Request requests[2];
  int flag = 0;
  MPI_Irecv(theirs, kLength, MPI_INT, left, 1, comm, &requests[0]);
  MPI_Send(mine, kLength, MPI_INT, right, 1, comm);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  came(left + 1, "a receive that was waited for");
  MPI_Irecv(theirs, kLength, MPI_INT, left, 2, comm, &requests[0]);
  for (int i = 0; i < 10; ++i) MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
  check(!flag, "a receive before its message", flag);
  MPI_Barrier(comm);
  MPI_Isend(mine, kLength, MPI_INT, right, 2, comm, &requests[1]);
  for (; !flag; sched_yield()) MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
  came(left + 1, "a receive that was asked for");
  MPI_Sendrecv(mine, kLength, MPI_INT, right, 3, theirs, kLength, MPI_INT, left, 3, comm, MPI_STATUS_IGNORE);
  came(left + 1, "an exchange");
}

static void collectives(void) {
  MPI_Request request;
  const int sum = ranks * (ranks + 1) / 2;
  MPI_Allreduce(mine, theirs, kLength, MPI_INT, MPI_SUM, comm);
  came(sum, "a sum");
  MPI_Iallreduce(mine, theirs, kLength, MPI_INT, MPI_SUM, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  came(sum, "a sum that was waited for");
  MPI_Comm twin;
  MPI_Comm_dup(comm, &twin);
  MPI_Reduce_scatter_block(mine, theirs, kLength / ranks, MPI_INT, MPI_SUM, twin);
  for (int i = 0; i < kLength / ranks; ++i) check(theirs[i] == sum, "a part of a sum", theirs[i]);
  clear();
  MPI_Comm_free(&twin);
}

static void window(void) {
  MPI_Win win;
  MPI_Win_create(theirs, kLength * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &win);
  MPI_Win_fence(0, win);
  MPI_Put(mine, kLength, MPI_INT, right, 0, kLength, MPI_INT, win);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
  came(left + 1, "a window");
}

/* With an argument, MPI_Init too. */
int main(int argc, char** argv) {
  const int both = argc > 1;
  MPI_Session session;
  MPI_Group group;
  if (both) MPI_Init(&argc, &argv);
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "sennit.c_sessions", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  left = (rank + ranks - 1) % ranks;
  right = (rank + 1) % ranks;
  mine = on_gpu(kLength * sizeof(int));
  theirs = on_gpu(kLength * sizeof(int));
  for (int i = 0; i < kLength; ++i) mine[i] = rank + 1;
  clear();
  messages();
  collectives();
  window();
  MPI_Barrier(comm);
  if (rank == 0) fputs("all arrived\n", stdout);
  MPI_Comm_free(&comm);
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
  if (both) MPI_Finalize();
  return 0;
}

#endif
