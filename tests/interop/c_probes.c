/* Probes for messages of a program's own that are as long as what is sent in the place of others: no message is told
 * as long as another. test_c_programs.py compiles it for each MPI. */
#define _GNU_SOURCE
#include "c_ranks.h"

enum {
  kAlike = 136,    /* ints: 544 bytes announce the first message under way */
  kLong = 8 << 20, /* ints: still on its way when it is probed for */
  kRounds = 20
};
static int *host, *gpu;

static void check_told(int holds, const char* what, int round, int told) {
  if (!holds) give_up("%s, round %d, told %d", what, round, told);
}

static void expect_length(int tag, MPI_Comm comm, int length, const char* what, int round) {
  MPI_Status status;
  int told = -1;
  MPI_Probe(1 - rank, tag, comm, &status);
  MPI_Get_count(&status, MPI_INT, &told);
  check_told(told == length, what, round, told);
}

/* Receives and looks whether it is the message of that value and length. */
static void receive(int* into, int tag, MPI_Comm comm, int length, int value, const char* what) {
  MPI_Status status;
  int told = -1;
  MPI_Recv(into, length, MPI_INT, 1 - rank, tag, comm, &status);
  MPI_Get_count(&status, MPI_INT, &told);
  check_told(told == length && into[0] == value && into[length - 1] == value, what, value, told);
}

static void fill(int* numbers, int length, int value) {
  for (int i = 0; i < length; ++i) numbers[i] = value;
}

/* The short message is sent first, by each kind of send. */
static void before(int tag) {
  MPI_Request requests[2], again;
  if (rank == 0) MPI_Send_init(host, kAlike, MPI_INT, 1, tag + 2, MPI_COMM_WORLD, &again);
  for (int round = 0; round < kRounds; ++round) {
    const int kind = round % 3, with = tag + kind;
    if (rank == 0) {
      fill(host, kAlike, round);
      fill(gpu, kLong / 100, -round);
      requests[0] = MPI_REQUEST_NULL;
      if (kind == 0) MPI_Send(host, kAlike, MPI_INT, 1, with, MPI_COMM_WORLD);
      if (kind == 1) MPI_Isend(host, kAlike, MPI_INT, 1, with, MPI_COMM_WORLD, &requests[0]);
      if (kind == 2) MPI_Start(&again);
      MPI_Isend(gpu, kLong / 100, MPI_INT, 1, with, MPI_COMM_WORLD, &requests[1]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      if (kind == 2) MPI_Wait(&again, MPI_STATUS_IGNORE);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else {
      expect_length(with, MPI_COMM_WORLD, kAlike, "a short message before a long one", round);
      receive(host, with, MPI_COMM_WORLD, kAlike, round, "the short message");
      expect_length(with, MPI_COMM_WORLD, kLong / 100, "the long message", round);
      receive(gpu, with, MPI_COMM_WORLD, kLong / 100, -round, "the long message that was probed for");
    }
  }
  if (rank == 0) MPI_Request_free(&again);
}

/* The long message is sent first, and has been matched when the short one is found. */
static void behind(int tag) {
  MPI_Request request;
  MPI_Message message;
  MPI_Status status;
  int told = -1;
  for (int round = 0; round < kRounds; ++round) {
    if (rank == 1 && round % 2 == 0) MPI_Irecv(gpu, kLong, MPI_INT, 0, tag, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      fill(host, kAlike, round);
      gpu[0] = gpu[kLong - 1] = -round;
      MPI_Isend(gpu, kLong, MPI_INT, 1, tag, MPI_COMM_WORLD, &request);
      MPI_Send(host, kAlike, MPI_INT, 1, tag, MPI_COMM_WORLD);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      continue;
    }
    if (round % 2 != 0) {
      MPI_Mprobe(0, tag, MPI_COMM_WORLD, &message, round % 4 == 1 ? &status : MPI_STATUS_IGNORE);
      if (round % 4 == 1) MPI_Get_count(&status, MPI_INT, &told);
      check_told(round % 4 != 1 || told == kLong, "a matched probe", round, told);
    }
    expect_length(tag, MPI_COMM_WORLD, kAlike, "a short message behind a long one", round);
    receive(host, tag, MPI_COMM_WORLD, kAlike, round, "the short message");
    if (round % 2 != 0)
      MPI_Mrecv(gpu, kLong, MPI_INT, &message, MPI_STATUS_IGNORE);
    else
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_told(gpu[0] == -round && gpu[kLong - 1] == -round, "the long message", round, gpu[0]);
  }
}

/* Both are there, in two communicators. */
static void in_another(int tag) {
  MPI_Comm reversed;
  MPI_Request request;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
  for (int round = 0; round < kRounds; ++round) {
    if (rank == 0) {
      fill(host, kAlike, round);
      gpu[0] = gpu[kLong - 1] = -round;
      MPI_Isend(gpu, kLong, MPI_INT, 1, tag, MPI_COMM_WORLD, &request);
      MPI_Send(host, kAlike, MPI_INT, 0, tag, reversed);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      continue;
    }
    MPI_Status status;
    int told = -1;
    MPI_Probe(1, tag, reversed, &status);
    MPI_Get_count(&status, MPI_INT, &told);
    check_told(told == kAlike, "a short message in another communicator", round, told);
    expect_length(tag, MPI_COMM_WORLD, kLong, "the long message beside it", round);
    MPI_Recv(host, kAlike, MPI_INT, 1, tag, reversed, MPI_STATUS_IGNORE);
    receive(gpu, tag, MPI_COMM_WORLD, kLong, -round, "the long message beside it");
    check_told(host[0] == round, "the short message in another communicator", round, host[0]);
  }
  MPI_Comm_free(&reversed);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  host = malloc(kAlike * sizeof(int));
  gpu = on_gpu(kLong * sizeof(int));
  fill(gpu, kLong, 0);
  /* From here on both processes are known to use a GPU. */
  MPI_Sendrecv_replace(gpu, 1000, MPI_INT, 1 - rank, 1, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  before(10);
  behind(20);
  in_another(30);
  return end();
}
