/* Messages that are too long for their receives: what goes wrong is for the error handler of the receive's
 * communicator to hear, and not for MPI_COMM_WORLD's, which ends the job. Those here are as long as sennit takes:
 * with its own errors MPICH does not always do so. */
#define _GNU_SOURCE
#include <string.h>

#include "c_ranks.h"

enum { kLong = 300000, kTag = 3 };

static int heard, last; /* by the program's own handler: how often, and the class of the latest */
static MPI_Comm of;     /* and its communicator */
static int *mine, *theirs;

static void hear(MPI_Comm* comm, int* code, ...) {
  ++heard;
  of = *comm;
  MPI_Error_class(*code, &last);
}

static int class_of(int code) {
  int class = -1;
  MPI_Error_class(code, &class);
  return class;
}

/* The first is truncated, unless `second` is. */
static void check_statuses(const MPI_Status* statuses, int second, const char* what, int length) {
  check(class_of(statuses[second].MPI_ERROR) == MPI_ERR_TRUNCATE, what, length);
  check(statuses[1 - second].MPI_ERROR == MPI_SUCCESS, what, length);
}

/* Two receives of which one is too short, completed together in some way. */
static void receive_two(const char* how, int second, int length, MPI_Comm here) {
  MPI_Request two[2];
  MPI_Status statuses[2];
  int done = 0, at[2] = {-1, -1};
  memset(statuses, 0, sizeof statuses);
  MPI_Irecv(theirs, second ? length : length / 2, MPI_INT, 1, kTag, here, &two[0]);
  MPI_Irecv(theirs + kLong, second ? length / 2 : length, MPI_INT, 1, kTag + 1, here, &two[1]);
  MPI_Barrier(here);
  if (!strcmp(how, "waitall")) {
    check(MPI_Waitall(2, two, statuses) == MPI_ERR_IN_STATUS, how, length);
    check_statuses(statuses, second, how, length);
  } else if (!strcmp(how, "testall")) {
    int code = MPI_SUCCESS;
    while (code == MPI_SUCCESS && !done) code = MPI_Testall(2, two, &done, statuses);
    check(code == MPI_ERR_IN_STATUS, how, length);
    check_statuses(statuses, second, how, length);
  } else { /* waitsome */
    int failed = 0;
    for (int left = 2; left > 0; left -= done) {
      const int code = MPI_Waitsome(2, two, &done, at, statuses);
      check(code == MPI_SUCCESS || code == MPI_ERR_IN_STATUS, how, length);
      check(done > 0 && done <= left, how, done);
      for (int i = 0; i < done && code == MPI_ERR_IN_STATUS; ++i) {
        const int error = class_of(statuses[i].MPI_ERROR);
        check(error == (at[i] == second ? MPI_ERR_TRUNCATE : MPI_SUCCESS), how, length);
        failed += error != MPI_SUCCESS;
      }
    }
    check(failed == 1, how, length);
  }
  check(two[0] == MPI_REQUEST_NULL && two[1] == MPI_REQUEST_NULL, how, length);
}

static void send_two(int length, MPI_Comm here) {
  MPI_Barrier(here); /* a message that comes before its receive is posted is no other case */
  MPI_Send(mine, length, MPI_INT, 0, kTag, here);
  MPI_Send(mine, length, MPI_INT, 0, kTag + 1, here);
}

/* Rank 0 receives half of what rank 1 sends. `own`: the communicator has the program's handler. What goes wrong in
 * one that was freed is MPI_COMM_WORLD's, as with Open MPI alone (MPICH has an assertion that fails). */
static void one(const char* how, int length, int own) {
  const int freed = !strcmp(how, "freed");
  MPI_Comm here, hears;
  MPI_Errhandler handler;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  int code = MPI_SUCCESS, flag = 0;
  MPI_Comm_dup(MPI_COMM_WORLD, &here);
  MPI_Comm_create_errhandler(hear, &handler);
  MPI_Comm_set_errhandler(here, own ? handler : MPI_ERRORS_RETURN);
  if (freed) MPI_Comm_set_errhandler(MPI_COMM_WORLD, own ? handler : MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&handler);
  hears = freed ? MPI_COMM_WORLD : here;
  heard = 0;
  memset(&status, 0, sizeof status);
  const int together = !strcmp(how, "waitall") || !strcmp(how, "testall") || !strcmp(how, "waitsome");
  if (rank == 1 && together) {
    send_two(length, here);
    send_two(length, here);
  } else if (rank == 1 && !strcmp(how, "sendrecv")) {
    MPI_Sendrecv(mine, length, MPI_INT, 0, kTag, theirs, length, MPI_INT, 0, kTag, here, &status);
  } else if (rank == 1) {
    MPI_Request sent;
    MPI_Isend(mine, length, MPI_INT, 0, kTag, here, &sent);
    if (freed) MPI_Comm_free(&here);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
  } else if (rank == 0 && together) {
    receive_two(how, 0, length, here);
    receive_two(how, 1, length, here);
  } else if (rank == 0) {
    if (!strcmp(how, "recv")) {
      code = MPI_Recv(theirs, length / 2, MPI_INT, 1, kTag, here, &status);
    } else if (!strcmp(how, "sendrecv")) {
      code = MPI_Sendrecv(mine, length, MPI_INT, 1, kTag, theirs, length / 2, MPI_INT, 1, kTag, here, &status);
    } else if (!strcmp(how, "persistent")) {
      MPI_Recv_init(theirs, length / 2, MPI_INT, 1, kTag, here, &request);
      MPI_Start(&request);
      code = MPI_Wait(&request, &status);
      check(request != MPI_REQUEST_NULL, how, length);
      MPI_Request_free(&request);
    } else {
      MPI_Irecv(theirs, length / 2, MPI_INT, 1, kTag, here, &request);
      if (freed) MPI_Comm_free(&here);
      if (!strcmp(how, "test"))
        while (code == MPI_SUCCESS && !flag) code = MPI_Test(&request, &flag, &status);
      else
        code = MPI_Wait(&request, &status);
    }
    check(class_of(code) == MPI_ERR_TRUNCATE, how, length);
    check(request == MPI_REQUEST_NULL, how, length);
  }
  if (rank == 0 && own) {
    check(of == hears, how, length);
    check(heard == (together ? 2 : 1) && last == MPI_ERR_TRUNCATE, how, heard);
  }
  if (here != MPI_COMM_NULL) MPI_Comm_free(&here);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  mine = on_gpu(2 * kLong * sizeof(int));
  theirs = on_gpu(2 * kLong * sizeof(int));
  memset(mine, 1, 2 * kLong * sizeof(int));
  /* Each knows that the other uses a GPU. */
  MPI_Sendrecv(mine, kLong, MPI_INT, right, kTag, theirs, kLong, MPI_INT, left, kTag, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 1; i < argc; ++i)
    for (int own = 0; own < 2; ++own) {
      one(argv[i], kLong, own);
      one(argv[i], 1000, own);
    }
  return end();
}
