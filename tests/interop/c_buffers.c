/* Messages and collectives from C, with what each rank sends and receives in GPU memory, and checks of what comes.
 * test_c_programs.py compiles it for each MPI, and for the standard ABI of MPI 5. */
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>

#include "c_ranks.h"

enum { kLong = 100000 };

static void fill(int* numbers, int length, int value) {
  for (int i = 0; i < length; ++i) numbers[i] = value;
}

static int all_are(const int* numbers, int length, int value) {
  for (int i = 0; i < length; ++i)
    if (numbers[i] != value) return 0;
  return 1;
}

static void expect(const MPI_Status* status, int source, int tag, int count, const char* what) {
  int told = -1, cancelled = 1;
  MPI_Count elements = -1;
  MPI_Get_count(status, MPI_INT, &told);
  MPI_Get_elements_x(status, MPI_INT, &elements);
  MPI_Test_cancelled(status, &cancelled);
  check(status->MPI_SOURCE == source && status->MPI_TAG == tag, what, count);
  check(told == count && elements == count && !cancelled, what, count);
}

static void messages(int* mine, int* theirs, int length) {
  MPI_Status status, statuses[2];
  MPI_Request both[2];
  int number, flag = 0;
  fill(mine, length, rank);
  fill(theirs, kLong, -1);
  if (rank == 1) MPI_Send(mine, length, MPI_INT, 0, 7, MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Recv(theirs, kLong, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    check(all_are(theirs, length, 1), "a receive from anywhere", length);
    check(length == kLong || theirs[length] == -1, "behind a short message", length);
    expect(&status, 1, 7, length, "the status of a receive from anywhere");
  }
  MPI_Barrier(MPI_COMM_WORLD);

  MPI_Irecv(theirs, length, MPI_INT, left, 3, MPI_COMM_WORLD, &both[0]);
  MPI_Isend(mine, length, MPI_INT, right, 3, MPI_COMM_WORLD, &both[1]);
  MPI_Waitall(2, both, statuses);
  check(all_are(theirs, length, left), "requests, all awaited", length);
  expect(&statuses[0], left, 3, length, "the status of a request");
  check(both[0] == MPI_REQUEST_NULL && both[1] == MPI_REQUEST_NULL, "requests that have ended", length);

  fill(theirs, length, -1);
  MPI_Irecv(theirs, length, MPI_INT, left, 4, MPI_COMM_WORLD, &both[0]);
  MPI_Isend(mine, length, MPI_INT, right, 4, MPI_COMM_WORLD, &both[1]);
  for (int done = 0; done < 2; ++done) {
    MPI_Waitany(2, both, &number, &status);
    if (number == 0) expect(&status, left, 4, length, "the status of any of two requests");
  }
  MPI_Waitany(2, both, &number, &status);
  check(number == MPI_UNDEFINED && all_are(theirs, length, left), "any of two requests", length);

  MPI_Recv_init(theirs, length, MPI_INT, left, 5, MPI_COMM_WORLD, &both[0]);
  MPI_Send_init(mine, length, MPI_INT, right, 5, MPI_COMM_WORLD, &both[1]);
  for (int round = 1; round < 4; ++round) {
    fill(mine, length, 10 * round + rank);
    MPI_Startall(2, both);
    for (; !flag; sched_yield()) MPI_Test(&both[0], &flag, &status);
    flag = 0;
    MPI_Wait(&both[1], MPI_STATUS_IGNORE);
    check(all_are(theirs, length, 10 * round + left), "persistent requests", length);
    expect(&status, left, 5, length, "the status of a persistent request");
  }
  MPI_Request_free(&both[0]);
  MPI_Request_free(&both[1]);

  fill(mine, length, rank);
  MPI_Sendrecv(mine, length, MPI_INT, right, 8, theirs, length, MPI_INT, left, 8, MPI_COMM_WORLD, &status);
  check(all_are(theirs, length, left), "what two exchange", length);
  expect(&status, left, 8, length, "the status of an exchange");

  if (rank == 1) MPI_Ssend(mine, length, MPI_INT, 0, 9, MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Message message;
    memset(&status, 0xff, sizeof status); /* as memory may be; what probes leave of it is not to matter */
    MPI_Mprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &message, &status);
    MPI_Get_count(&status, MPI_INT, &number);
    check(status.MPI_SOURCE == 1 && status.MPI_TAG == 9 && number == length, "the status of a matched probe", length);
    MPI_Mrecv(theirs, length, MPI_INT, &message, &status);
    check(all_are(theirs, length, 1) && message == MPI_MESSAGE_NULL, "a matched message", length);
  }

  /* A type that is freed while its receive is open. */
  MPI_Datatype every_other;
  MPI_Type_vector(length / 2, 1, 2, MPI_INT, &every_other);
  MPI_Type_commit(&every_other);
  fill(theirs, length, -1);
  MPI_Irecv(theirs, 1, every_other, left, 10, MPI_COMM_WORLD, &both[0]);
  MPI_Type_free(&every_other);
  MPI_Isend(mine, length / 2, MPI_INT, right, 10, MPI_COMM_WORLD, &both[1]);
  MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
  check(theirs[0] == left && theirs[1] == -1 && theirs[length - 2] == left, "a type that was freed", length);
}

static void larger_rest(void* from, void* to, int* length, MPI_Datatype* type) {
  (void)type;
  const int* const in = from;
  int* const inout = to;
  for (int i = 0; i < *length; ++i)
    if (in[i] % 1000 > inout[i] % 1000) inout[i] = in[i];
}

static void collectives(int* mine, int* theirs, int length) {
  int* const all = on_gpu((size_t)(length * ranks) * sizeof(int));
  int* const counts = malloc((size_t)ranks * 2 * sizeof(int));
  int* const places = counts + ranks;
  fill(mine, length, rank + 1);
  MPI_Allreduce(mine, theirs, length, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  check(all_are(theirs, length, ranks * (ranks + 1) / 2), "allreduce", length);
  MPI_Allreduce(MPI_IN_PLACE, mine, length, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  check(all_are(mine, length, ranks), "allreduce in place", length);
  fill(mine, length, rank);
  MPI_Bcast(mine, length, MPI_INT, ranks - 1, MPI_COMM_WORLD);
  check(all_are(mine, length, ranks - 1), "broadcast", length);
  fill(mine, length, rank);
  MPI_Allgather(mine, length, MPI_INT, all, length, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < ranks; ++i) {
    check(all_are(all + i * length, length, i), "allgather", length);
    counts[i] = length;
    places[i] = i * length;
    fill(all + i * length, length, 10 * rank + i);
  }
  int* const came = on_gpu((size_t)(length * ranks) * sizeof(int));
  MPI_Alltoallv(all, counts, places, MPI_INT, came, counts, places, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < ranks; ++i)
    check(all_are(came + i * length, length, 10 * i + rank), "all to all, of different lengths", length);
  MPI_Reduce(rank == 0 ? MPI_IN_PLACE : mine, mine, length, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  check(rank != 0 || all_are(mine, length, ranks * (ranks - 1) / 2), "reduce in place", length);
  MPI_Op larger;
  MPI_Op_create(&larger_rest, 1, &larger);
  fill(mine, length, 1000 * (ranks - rank) + rank);
  MPI_Allreduce(mine, theirs, length, MPI_INT, larger, MPI_COMM_WORLD);
  check(all_are(theirs, length, 1000 + ranks - 1), "an operator of the program", length);
  MPI_Op_free(&larger);
  MPI_Request request;
  fill(mine, length, rank);
  MPI_Iallreduce(mine, theirs, length, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check(all_are(theirs, length, ranks - 1), "a reduction that ends in a request", length);
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  int size = 0;
  MPI_Comm_size(half, &size);
  fill(mine, length, 1);
  MPI_Allreduce(MPI_IN_PLACE, mine, length, MPI_INT, MPI_SUM, half);
  check(all_are(mine, length, size), "a part of the world", length);
  MPI_Comm_free(&half);
  check(half == MPI_COMM_NULL, "a communicator that was freed", length);
  free(counts);
}

/* Errors are the program's to look at. */
static void errors(int* theirs) {
  MPI_Comm here;
  MPI_Comm_dup(MPI_COMM_WORLD, &here);
  MPI_Comm_set_errhandler(here, MPI_ERRORS_RETURN);
  int class = -1;
  const int code = MPI_Recv(theirs, kLong, MPI_INT, ranks + 5, 0, here, MPI_STATUS_IGNORE);
  MPI_Error_class(code, &class);
  check(class == MPI_ERR_RANK, "a rank that is none", kLong);
  MPI_Comm_free(&here);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  int* const mine = on_gpu(kLong * sizeof(int));
  int* const theirs = on_gpu(kLong * sizeof(int));
  for (int round = 0; round < 2; ++round) {
    messages(mine, theirs, round == 0 ? kLong : 10);
    collectives(mine, theirs, round == 0 ? kLong : 10);
  }
  errors(theirs);
  return end();
}
