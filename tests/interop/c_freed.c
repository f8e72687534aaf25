/* A program that frees GPU memory while a request uses it, which MPI does not allow: the request ends in an error of
 * MPI's, or as if the memory had been freed later. The arguments say which, and how many numbers. */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "c_ranks.h"

static int count = 1000000;

static int* made_of(int value) {
  int* const data = on_gpu(count * sizeof(int));
  for (int i = 0; i < count; ++i) data[i] = value;
  return data;
}

static void tell(int code) {
  printf("rank %d: %s\n", rank, code == MPI_SUCCESS ? "done" : "error");
  fflush(stdout);
}

/* Of rank 0, which frees what it sends or receives. What it then learns. */
static int end_of(MPI_Request* request, int* data) {
  free_on_gpu(data);
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Wait(request, MPI_STATUS_IGNORE);
}

static int sends(int* data) {
  MPI_Request request;
  if (rank == 0) {
    MPI_Isend(data, count, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
    return end_of(&request, data);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  usleep(50000); /* who waits for a short send leaves a copy meanwhile */
  const int code = MPI_Recv(data, count, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (code == MPI_SUCCESS) check(data[0] == 5 && data[count - 1] == 5, "what was received", data[0]);
  return code;
}

/* `from`: what rank 1 sends. */
static int receives(int* data, int* from) {
  MPI_Request request;
  if (rank == 0) {
    MPI_Irecv(data, count, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
    return end_of(&request, data);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Send(from, count, MPI_INT, 0, 1, MPI_COMM_WORLD);
}

/* A send whose memory is gone when it is started: nothing is sent. */
static int starts(int* data) {
  MPI_Request request;
  if (rank == 0) {
    MPI_Send_init(data, count, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
    free_on_gpu(data);
    const int code = MPI_Start(&request);
    return code != MPI_SUCCESS ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  return MPI_SUCCESS;
}

/* The same beside a receive: neither has begun, and what completes them brings nothing. */
static int starts_both(int* data, int* other) {
  MPI_Request both[2];
  if (rank != 0) return MPI_SUCCESS;
  MPI_Recv_init(other, count, MPI_INT, 1, 1, MPI_COMM_WORLD, &both[0]);
  MPI_Send_init(data, count, MPI_INT, 1, 1, MPI_COMM_WORLD, &both[1]);
  free_on_gpu(data);
  const int code = MPI_Startall(2, both);
  for (int i = 0; i < count; ++i) other[i] = 9;
  check(MPI_Waitall(2, both, MPI_STATUSES_IGNORE) == MPI_SUCCESS, "requests that were not started", code);
  check(other[0] == 9 && other[count - 1] == 9, "what nobody sent", other[0]);
  for (int i = 0; i < 2; ++i) MPI_Request_free(&both[i]);
  return code;
}

/* `mine` is freed on rank 0. */
static int reduces(int* in, int* out, int* mine) {
  MPI_Request request;
  if (rank == 1) usleep(50000);
  const int code = MPI_Iallreduce(in, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  if (rank == 0) free_on_gpu(mine);
  return code != MPI_SUCCESS ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const char* const what = argc > 2 ? argv[1] : "";
  if (argc > 2) count = atoi(argv[2]);
  /* Both use their GPUs, so that what is sent next is announced. */
  int *const data = made_of(5 + rank), *const other = made_of(0), *const host = calloc(count, sizeof(int)),
             *const other_host = calloc(count, sizeof(int));
  MPI_Sendrecv(data, count, MPI_INT, 1 - rank, 0, other, count, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  int code = MPI_SUCCESS;
  if (!strcmp(what, "send")) code = sends(data);
  if (!strcmp(what, "receive")) code = receives(data, data);
  if (!strcmp(what, "staged receive")) code = receives(data, host);
  if (!strcmp(what, "start")) code = starts(data);
  if (!strcmp(what, "starts")) code = starts_both(data, other);
  if (!strcmp(what, "input")) code = reduces(data, other, data);
  if (!strcmp(what, "output")) code = reduces(data, other, other);
  if (!strcmp(what, "staged output")) code = reduces(host, rank == 0 ? other : other_host, other);
  tell(code);
  return end();
}
