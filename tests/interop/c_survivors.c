/* A program whose ranks go on when one of them has died (ULFM): errors are those of the MPI, a communicator of the
 * others works, and so does one that was made before and never had the dead one. The argument says where the others
 * are then. test_loading.py compiles it for Open MPI. */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "c_ranks.h"
/* Of Open MPI: behind its mpi.h. */
#include <mpi-ext.h>

enum { kLength = 50000, kDead = 1 };

static int *mine, *theirs;

static void leave(int number) {
  (void)number;
  _exit(0);
}

static int class_of(int code) {
  int found = -1;
  MPI_Error_class(code, &found);
  return found;
}

static void use(MPI_Comm comm, const char* what) {
  int own, all;
  MPI_Request requests[2];
  MPI_Comm_rank(comm, &own);
  MPI_Comm_size(comm, &all);
  for (int i = 0; i < kLength; ++i) mine[i] = own + 1;
  check(MPI_Allreduce(mine, theirs, kLength, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS, what, 1);
  check(theirs[kLength - 1] == all * (all + 1) / 2, what, theirs[kLength - 1]);
  check(MPI_Irecv(theirs, kLength, MPI_INT, (own + 1) % all, 1, comm, &requests[0]) == MPI_SUCCESS, what, 2);
  check(MPI_Isend(mine, kLength, MPI_INT, (own + all - 1) % all, 1, comm, &requests[1]) == MPI_SUCCESS, what, 3);
  check(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS, what, 4);
  check(theirs[kLength - 1] == (own + 1) % all + 1, what, theirs[kLength - 1]);
  check(MPI_Iallreduce(mine, theirs, kLength, MPI_INT, MPI_MAX, comm, &requests[0]) == MPI_SUCCESS, what, 5);
  check(MPI_Wait(&requests[0], MPI_STATUS_IGNORE) == MPI_SUCCESS, what, 6);
  check(theirs[kLength - 1] == all, what, theirs[kLength - 1]);
}

/* A receive from anybody, which another rank than the dead one may still meet. Returns the error's class. */
static int receive_from_anybody(MPI_Comm all) {
  const int sender = kDead + 1;
  MPI_Request request;
  MPI_Status status;
  int code, go_on = 1;
  if (rank == sender) {
    check(MPI_Recv(&go_on, 1, MPI_INT, 0, 2, all, MPI_STATUS_IGNORE) == MPI_SUCCESS, "a word", 0);
    check(MPI_Send(mine, kLength, MPI_INT, 0, 3, all) == MPI_SUCCESS, "a message", 0);
  }
  MPI_Irecv(theirs, kLength, MPI_INT, rank == 0 ? MPI_ANY_SOURCE : kDead, 3, all, &request);
  code = class_of(MPI_Wait(&request, &status));
  if (rank != 0) return code;
  check(code == MPIX_ERR_PROC_FAILED_PENDING && request != MPI_REQUEST_NULL, "a receive from anybody", code);
  MPIX_Comm_failure_ack(all);
  MPI_Send(&go_on, 1, MPI_INT, sender, 2, all);
  theirs[kLength - 1] = 0;
  check(MPI_Wait(&request, &status) == MPI_SUCCESS && status.MPI_SOURCE == sender, "the sender", status.MPI_SOURCE);
  check(theirs[kLength - 1] == sender + 1, "what came", theirs[kLength - 1]);
  return MPIX_ERR_PROC_FAILED;
}

/* One from the dead rank, and one that this rank meets later: who waits for both hears of the first. */
static int receive_several(MPI_Comm all) {
  MPI_Request requests[2];
  MPI_Status statuses[2];
  MPI_Irecv(theirs, kLength / 2, MPI_INT, kDead, 3, all, &requests[0]);
  MPI_Irecv(theirs + kLength / 2, kLength / 2, MPI_INT, rank, 4, all, &requests[1]);
  const int several = class_of(MPI_Waitall(2, requests, statuses)), second = class_of(statuses[1].MPI_ERROR);
  check(several == MPI_ERR_IN_STATUS && second == MPI_ERR_PENDING, "a wait for several", several);
  check(MPI_Send(mine, kLength / 2, MPI_INT, rank, 4, all) == MPI_SUCCESS, "a message to oneself", 0);
  check(MPI_Wait(&requests[1], MPI_STATUS_IGNORE) == MPI_SUCCESS, "what was left", 0);
  check(theirs[kLength / 2] == rank + 1, "what came", theirs[kLength / 2]);
  return class_of(statuses[0].MPI_ERROR);
}

/* Nobody has met it when the communicator is revoked. */
static int receive_until_revoked(MPI_Comm all) {
  MPI_Request request;
  if (rank == 0) {
    usleep(200000);
    MPIX_Comm_revoke(all);
  }
  MPI_Irecv(theirs, kLength, MPI_INT, MPI_ANY_SOURCE, 3, all, &request);
  const int code = class_of(MPI_Wait(&request, MPI_STATUS_IGNORE));
  return code == MPIX_ERR_PROC_FAILED_PENDING ? MPIX_ERR_PROC_FAILED : code; /* the dead one was known first */
}

int main(int argc, char** argv) {
  MPI_Comm all, others, left_over;
  MPI_Request request;
  int code = MPI_SUCCESS, one = 1, sum = 0;
  begin(&argc, &argv);
  const char* const where = argc > 1 ? argv[1] : "reducing";
  mine = on_gpu(kLength * sizeof(int));
  theirs = on_gpu(kLength * sizeof(int));
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_dup(MPI_COMM_WORLD, &all);
  MPI_Comm_split(MPI_COMM_WORLD, rank == kDead, rank, &others); /* inherits the handler */
  use(all, "before");
  use(others, "others before");
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < kLength; ++i) mine[i] = rank + 1;
  if (rank == kDead) {
    usleep(200000);
    raise(SIGKILL);
  }
  if (strcmp(where, "reducing") == 0) {
    code = MPI_Allreduce(mine, theirs, kLength, MPI_INT, MPI_SUM, all);
  } else if (strcmp(where, "begun") == 0) {
    MPI_Iallreduce(mine, theirs, kLength, MPI_INT, MPI_SUM, all, &request);
    code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (strcmp(where, "receiving") == 0) {
    code = MPI_Recv(theirs, kLength, MPI_INT, kDead, 1, all, MPI_STATUS_IGNORE);
  } else if (strcmp(where, "sending") == 0) {
    code = MPI_Ssend(mine, kLength, MPI_INT, kDead, 1, all);
  } else if (strcmp(where, "anybody") == 0) {
    code = receive_from_anybody(all);
  } else if (strcmp(where, "several") == 0) {
    code = receive_several(all);
  } else if (strcmp(where, "revoked") == 0) {
    code = receive_until_revoked(all);
  } else { /* host memory alone */
    code = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
  }
  code = class_of(code);
  check(code == MPIX_ERR_PROC_FAILED || code == MPIX_ERR_REVOKED, "the error's class", code);
  use(others, "others after");
  MPIX_Comm_revoke(all);
  check(MPIX_Comm_shrink(all, &left_over) == MPI_SUCCESS, "shrink", 0);
  check(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, left_over) == MPI_SUCCESS && sum == ranks - 1, "host sum",
        sum);
  use(left_over, "after");
  MPI_Comm_free(&left_over);
  if (rank == 0) fputs("all arrived\n", stdout);
  fflush(stdout);
  /* Open MPI 5.0.11, alone, does not always come back from here; what the drop-in does comes first. */
  signal(SIGALRM, leave);
  alarm(5);
  MPI_Finalize();
  return 0;
}
