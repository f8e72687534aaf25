/* A program that does what the arguments say, in their order, with a buffer in GPU memory: test_loading.py holds what
 * becomes of it under the drop-in against what the MPI does alone. */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "c_ranks.h"

enum { kCount = 150000 }; /* 600 KB: what sennit reduces over several nodes too */
static MPI_Win window;

static void sum(int* buffer) {
  for (int i = 0; i < kCount; ++i) buffer[i] = rank + 1;
  MPI_Allreduce(MPI_IN_PLACE, buffer, kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (buffer[0] != ranks * (ranks + 1) / 2 || buffer[kCount - 1] != buffer[0]) {
    printf("rank %d: wrong sum\n", rank);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
}

static void exchange(int* buffer) {
  MPI_Request request;
  int* const came = on_gpu(kCount * sizeof(int));
  for (int i = 0; i < kCount; ++i) buffer[i] = rank;
  MPI_Irecv(came, kCount, MPI_INT, (rank + ranks - 1) % ranks, 1, MPI_COMM_WORLD, &request);
  MPI_Send(buffer, kCount, MPI_INT, (rank + 1) % ranks, 1, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (came[kCount - 1] != (rank + ranks - 1) % ranks) {
    printf("rank %d: a wrong message\n", rank);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
}

static void await_rank_1(int* buffer) {
  MPI_Request request;
  MPI_Irecv(buffer, kCount, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* One that is begun, and a blocking one behind it. */
static void begun(int* buffer) {
  MPI_Request request;
  int* const came = on_gpu(kCount * sizeof(int));
  for (int i = 0; i < kCount; ++i) buffer[i] = rank + 1;
  MPI_Iallreduce(buffer, came, kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (came[kCount - 1] != ranks * (ranks + 1) / 2) {
    printf("rank %d: wrong sum\n", rank);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
}

/* All ranks have left what they did before, and nothing of that is still on its way from rank 1: the MPI alone would
 * wait for it for ever. By messages, which the drop-in passes on. */
static void together(void) {
  int nothing = 0, flag;
  if (rank != 0) {
    MPI_Send(&nothing, 1, MPI_INT, 0, 77, MPI_COMM_WORLD);
    MPI_Recv(&nothing, 1, MPI_INT, 0, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    for (int i = 1; i < ranks; ++i) MPI_Recv(&nothing, 1, MPI_INT, i, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 1; i < ranks; ++i) MPI_Send(&nothing, 1, MPI_INT, i, 77, MPI_COMM_WORLD);
  }
  for (int i = 0; rank == 1 && i < 50; ++i) {
    MPI_Iprobe(MPI_ANY_SOURCE, 78, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    usleep(1000);
  }
}

int main(int argc, char** argv) {
  int* buffer = NULL;
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* a launcher ends its children, and may have started a shell */
  for (int i = 1; i < argc; ++i) {
    const char* const what = argv[i];
    if (!strcmp(what, "init")) {
      begin(&argc, &argv);
      buffer = on_gpu(kCount * sizeof(int));
    } else if (!strcmp(what, "return")) {
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    } else if (!strcmp(what, "sum")) {
      sum(buffer);
    } else if (!strcmp(what, "exchange")) {
      exchange(buffer);
    } else if (!strcmp(what, "window")) {
      MPI_Win_create(buffer, kCount * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
      MPI_Win_fence(0, window);
    } else if (!strcmp(what, "fence")) {
      MPI_Win_fence(0, window);
    } else if (!strcmp(what, "await")) {
      await_rank_1(buffer);
    } else if (!strcmp(what, "host")) {
      int all = 0;
      MPI_Allreduce(&ranks, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      if (all != ranks * ranks) return 7;
    } else if (!strcmp(what, "isum")) {
      MPI_Request request;
      int all = 0;
      MPI_Iallreduce(&ranks, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      if (all != ranks * ranks) return 7;
    } else if (!strcmp(what, "begun")) {
      begun(buffer);
    } else if (!strcmp(what, "barrier")) {
      MPI_Barrier(MPI_COMM_WORLD);
    } else if (!strcmp(what, "send")) {
      MPI_Send(buffer, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    } else if (!strcmp(what, "wait")) {
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (!strcmp(what, "finalize")) {
      MPI_Finalize();
    } else if (!strcmp(what, "finalized")) {
      int initialized = 0, finalized = 0;
      MPI_Initialized(&initialized);
      MPI_Finalized(&finalized);
      if (!initialized || !finalized) return 4;
    } else if (!strcmp(what, "abort") && rank == 1) {
      MPI_Abort(MPI_COMM_WORLD, 5);
    } else if (!strcmp(what, "exit") && rank == 1) {
      _exit(6);
    } else if (!strcmp(what, "stay") && rank == 1) { /* until another rank ends the job */
      for (;;) pause();
    } else if (!strcmp(what, "kill")) {
      together();
      if (rank == 1) raise(SIGKILL);
    } else if (!strcmp(what, "roots")) { /* each rank has its own idea of it */
      MPI_Bcast(buffer, kCount, MPI_INT, rank % 2, MPI_COMM_WORLD);
      MPI_Reduce(rank == rank % 2 ? MPI_IN_PLACE : buffer, buffer, kCount, MPI_INT, MPI_SUM, rank % 2,
                 MPI_COMM_WORLD);
    } else if (!strcmp(what, "types")) { /* of other lengths */
      MPI_Allreduce(MPI_IN_PLACE, buffer, kCount / 2, rank == 1 ? MPI_SHORT : MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    } else if (!strcmp(what, "differ")) {
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
      const int wrong = rank == 1 ? kCount / 2 : kCount;
      if (MPI_Allreduce(MPI_IN_PLACE, buffer, wrong, MPI_INT, MPI_SUM, MPI_COMM_WORLD) != MPI_SUCCESS) return 8;
    } else if (!strcmp(what, "said")) {
      printf("rank %d came through\n", rank);
      fflush(stdout);
    }
  }
  return 0;
}
