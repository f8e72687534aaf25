/* What a program may do with requests beside waiting for them: it asks for several, frees those of sends, and goes on
 * after an exchange that failed. test_c_programs.py compiles it for each MPI. */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "c_ranks.h"

enum { kMost = 300000, kShort = 10, kTimes = 10 };
static int *mine, *theirs, of_host[kMost];

/* From here on messages are looked at, and GPUs lent. */
static void warm_up(void) {
  MPI_Request request;
  for (int i = 0; i < 2; ++i) {
    MPI_Irecv(theirs, kMost, MPI_INT, left, 1, MPI_COMM_WORLD, &request);
    MPI_Send(mine, kMost, MPI_INT, right, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION > 0)
enum kind { kAll, kAny, kSome, kKinds };

/* Asks until a receive is done that stands behind one of no request. */
static void ask(enum kind kind, MPI_Request request, MPI_Status* status) {
  MPI_Request both[2] = {MPI_REQUEST_NULL, request};
  MPI_Status statuses[2];
  int flag = 0, index = -1, count = 0, indices[2];
  while (!flag) {
    if (kind == kAll) MPI_Request_get_status_all(2, both, &flag, statuses);
    if (kind == kAny) MPI_Request_get_status_any(2, both, &index, &flag, status);
    if (kind == kSome) MPI_Request_get_status_some(2, both, &count, indices, statuses);
    if (kind == kSome) flag = count != 0;
  }
  if (kind == kAll) *status = statuses[1];
  if (kind == kAny) check(index == 1, "the index of any", index);
  if (kind == kSome) check(count == 1 && indices[0] == 1, "the index of some", count);
  if (kind == kSome) *status = statuses[0];
}

static void statuses(void) {
  for (int i = 0; i < kTimes * kKinds * 2; ++i) {
    const int kind = i % kKinds, length = i / kKinds % 2 == 0 ? kMost : kShort;
    MPI_Request request;
    MPI_Status status;
    int told = -1, flag = 0, index = 0, count = -1, indices[1];
    for (int k = 0; k < length; ++k) mine[k] = i, theirs[k] = -1;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) MPI_Send(mine, length, MPI_INT, 0, 2, MPI_COMM_WORLD);
    if (rank != 0) continue;
    MPI_Irecv(theirs, length, MPI_INT, 1, 2, MPI_COMM_WORLD, &request);
    ask((enum kind)kind, request, &status);
    MPI_Get_count(&status, MPI_INT, &told);
    check(told == length && status.MPI_SOURCE == 1, "what the status of several tells", told);
    check(theirs[0] == i && theirs[length - 1] == i, "what has come by then", theirs[0]);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    /* Beside one that never comes. */
    MPI_Irecv(theirs, length, MPI_INT, 1, 3, MPI_COMM_WORLD, &request);
    MPI_Request_get_status_all(1, &request, &flag, MPI_STATUSES_IGNORE);
    check(!flag, "all of one that has not come", flag);
    MPI_Request_get_status_any(1, &request, &index, &flag, MPI_STATUS_IGNORE);
    check(!flag && index == MPI_UNDEFINED, "any of one that has not come", index);
    MPI_Request_get_status_some(1, &request, &count, indices, MPI_STATUSES_IGNORE);
    check(count == 0, "some of one that has not come", count);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_get_status_some(1, &request, &count, indices, MPI_STATUSES_IGNORE);
    check(count == MPI_UNDEFINED, "some of none", count);
  }
}
#endif

/* An exchange whose send cannot be receives nothing later on. */
static void refused(void) {
  enum { kLength = 1000 };
  for (int i = 0; i < kLength; ++i) mine[i] = 5, theirs[i] = -1;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (rank == 0) {
    int class = -1, flag = 0;
    const int code = MPI_Sendrecv(mine, kLength, MPI_INT, ranks + 5, 4, theirs, kLength, MPI_INT, 1, 4,
                                  MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Error_class(code, &class);
    check(class == MPI_ERR_RANK, "a rank that is none", class);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 5000 && !flag; ++i) {
      usleep(1000);
      MPI_Iprobe(1, 4, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    check(flag && theirs[0] == -1, "the message after an exchange that failed", theirs[0]);
    MPI_Recv(theirs, kLength, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(theirs[kLength - 1] == 5, "what that message brought", theirs[0]);
  } else {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) MPI_Send(mine, kLength, MPI_INT, 0, 4, MPI_COMM_WORLD);
  }
  MPI_Status status;
  status.MPI_ERROR = 77;
  MPI_Sendrecv(mine, kLength, MPI_INT, right, 5, theirs, kLength, MPI_INT, left, 5, MPI_COMM_WORLD, &status);
  check(status.MPI_ERROR == 77, "the error in an exchange's status", status.MPI_ERROR);
}

/* Whose receiver waits for another message before. */
static void freed(int round, int length) {
  MPI_Request request = MPI_REQUEST_NULL;
  int other = -1, flag;
  for (int i = 0; i < length; ++i) mine[i] = round, theirs[i] = -1;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Isend(mine, length, MPI_INT, 1, 6, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    check(request == MPI_REQUEST_NULL, "a request that was freed", round);
    MPI_Send(&round, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
    MPI_Irecv(theirs, length, MPI_INT, 1, 8, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    MPI_Send(&round, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
    for (int i = 0; i < 5000 && theirs[length - 1] != round; ++i) {
      MPI_Iprobe(1, 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
      usleep(1000);
    }
    check(theirs[0] == round && theirs[length - 1] == round, "a receive that was freed", theirs[0]);
  } else if (rank == 1) {
    for (int i = 0; i < 2; ++i) MPI_Recv(&other, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(theirs, length, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(theirs[0] == round && theirs[length - 1] == round, "a send that was freed", theirs[0]);
    MPI_Send(theirs, length, MPI_INT, 0, 8, MPI_COMM_WORLD);
  }
  /* One that is given up. */
  MPI_Irecv(theirs, length, MPI_INT, left, 9, MPI_COMM_WORLD, &request);
  MPI_Cancel(&request);
  MPI_Request_free(&request);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* The receiver comes when the sender has nothing left to do. */
static void freed_at_the_end(int length) {
  MPI_Request request;
  for (int i = 0; i < length; ++i) mine[i] = 3;
  if (rank == 0) {
    MPI_Isend(mine, length, MPI_INT, 1, 10, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
  } else if (rank == 1) {
    usleep(200000);
    MPI_Recv(theirs, length, MPI_INT, 0, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(theirs[0] == 3 && theirs[length - 1] == 3, "a send that was freed at the end", theirs[0]);
    fputs("all arrived\n", stdout);
  }
  MPI_Finalize();
}

/* Both ways, started again and again, completed by one function after the other. */
static void persistent(int length, int synchronous, int* into) {
  MPI_Request requests[2];
  MPI_Status statuses[2];
  int index = 0, count = 0, flag = 0;
  if (synchronous)
    MPI_Ssend_init(mine, length, MPI_INT, right, 5, MPI_COMM_WORLD, &requests[1]);
  else
    MPI_Send_init(mine, length, MPI_INT, right, 5, MPI_COMM_WORLD, &requests[1]);
  MPI_Recv_init(into, length, MPI_INT, left, 5, MPI_COMM_WORLD, &requests[0]);
  for (int start = 0; start < kTimes * 2; ++start) {
    for (int i = 0; i < length; ++i) mine[i] = rank * 1000000 + start * 1000 + i % 1000, into[i] = -1;
    if (start % 2 == 0)
      MPI_Startall(2, requests);
    else
      MPI_Start(&requests[0]), MPI_Start(&requests[1]);
    switch (start % 6) {
      case 0: MPI_Waitall(2, requests, statuses); break;
      case 1: MPI_Wait(&requests[1], &statuses[1]), MPI_Wait(&requests[0], &statuses[0]); break;
      case 2:
        for (int i = 0; i < 2; ++i) MPI_Waitany(2, requests, &index, &statuses[i]), count += index;
        check(count == 1, "what Waitany said of both", count);
        break;
      case 3:
        for (flag = 0; !flag;) MPI_Testall(2, requests, &flag, statuses);
        break;
      case 4:
        for (flag = 0; !flag;) MPI_Request_get_status(requests[1], &flag, &statuses[1]);
        for (flag = 0; !flag;) MPI_Test(&requests[1], &flag, &statuses[1]);
        MPI_Wait(&requests[0], &statuses[0]);
        break;
      default:
        for (int left_over = 2, indices[2]; left_over > 0; left_over -= count)
          MPI_Waitsome(2, requests, &count, indices, statuses);
    }
    count = 0;
    for (int i = 0; i < length; ++i)
      check(into[i] == left * 1000000 + start * 1000 + i % 1000, "a persistent message", into[i]);
    check(requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL, "a request that stays", start);
  }
  MPI_Start(&requests[0]);
  MPI_Start(&requests[1]);
  MPI_Request_free(&requests[1]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Request_free(&requests[0]);
}

#ifdef OMPI_MAJOR_VERSION /* which cancels no send; MPICH, alone, waits for ever */

/* It arrives all the same. */
static void persistent_given_up(int length) {
  MPI_Request requests[2];
  MPI_Status statuses[2];
  int cancelled = 0;
  MPI_Send_init(mine, length, MPI_INT, right, 6, MPI_COMM_WORLD, &requests[0]);
  for (int i = 0; i < length; ++i) mine[i] = i, theirs[i] = -1;
  MPI_Start(&requests[0]);
  MPI_Cancel(&requests[0]);
  MPI_Irecv(theirs, length, MPI_INT, left, 6, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, statuses);
  MPI_Test_cancelled(&statuses[0], &cancelled);
  check(!cancelled, "a send that was not given up", cancelled);
  for (int i = 0; i < length; ++i) check(theirs[i] == i, "what was not given up", theirs[i]);
  MPI_Request_free(&requests[0]);
}

#endif

int main(int argc, char** argv) {
  begin(&argc, &argv);
  mine = on_gpu(kMost * sizeof(int));
  theirs = on_gpu(kMost * sizeof(int));
  warm_up();
  if (!strcmp(argv[1], "refused")) refused();
  for (int i = 0; !strcmp(argv[1], "persistent") && i < 6; ++i) {
    const int length = i / 2 == 0 ? kMost : i / 2 == 1 ? 1000 : kShort;
    persistent(length, i % 2, theirs);
    persistent(length, i % 2, of_host);
  }
#ifdef OMPI_MAJOR_VERSION
  if (!strcmp(argv[1], "persistent")) persistent_given_up(kMost);
#endif
  for (int i = 0; !strcmp(argv[1], "freed") && i < kTimes * 3; ++i)
    freed(i, i % 3 == 0 ? kMost : i % 3 == 1 ? 1000 : kShort);
  if (!strcmp(argv[1], "end")) {
    freed_at_the_end(kMost);
    return 0;
  }
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION > 0)
  if (!strcmp(argv[1], "statuses")) statuses();
#endif
  return end();
}
