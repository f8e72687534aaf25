/* Derived types whose data lie elsewhere than their address says: in two arrays, of GPUs or one of a GPU's and one of
 * the host's, from the address of one of them on, of something else, or of nothing (MPI_BOTTOM). */
#define _GNU_SOURCE
#include <string.h>

#include "c_ranks.h"

enum { kNumbers = 2000, kBytes = kNumbers * 4, kTag = 3 };

static int *gpu[4], *host[4]; /* two to send from, two to receive into */

/* A type of the numbers at `x` and those at `y`, in this order, as seen from `base`. */
static MPI_Datatype across(const int* x, const int* y, const void* base) {
  const int lengths[2] = {kNumbers, kNumbers};
  const MPI_Aint places[2] = {(const char*)x - (const char*)base, (const char*)y - (const char*)base};
  MPI_Datatype made;
  MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &made);
  MPI_Type_commit(&made);
  return made;
}

static void number(int* x, int from) {
  for (int i = 0; i < kNumbers; ++i) x[i] = from + i;
}

static void check_numbers(int* x, int from, const char* what, int number) {
  for (int i = 0; i < kNumbers; ++i)
    if (x[i] != from + i) give_up("%s, step %d: %d at %d", what, number, x[i], i);
  memset(x, 0xff, kBytes);
}

/* A ring of everything. `in`: a type from `from` on, `out`: the same of other memory. */
static void send(const char* what, const int* x, const int* y, const void* from, int* u, int* v, void* to) {
  const MPI_Datatype in = across(x, y, from), out = across(u, v, to);
  MPI_Request two[2];
  MPI_Status status;
  static int packed[2 * kNumbers];
  int count = -1, position = 0, step = 0;
#define CAME(rank)                                         \
  do {                                                     \
    check_numbers(u, 10000 * (rank), what, step);          \
    check_numbers(v, 10000 * (rank) + 5000, what, step++); \
  } while (0)
  MPI_Sendrecv(from, 1, in, right, kTag, to, 1, out, left, kTag, MPI_COMM_WORLD, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  check(count == 2 * kNumbers, "numbers that came", count);
  CAME(left);
  MPI_Irecv(to, 1, out, left, kTag, MPI_COMM_WORLD, &two[0]);
  MPI_Isend(from, 1, in, right, kTag, MPI_COMM_WORLD, &two[1]);
  MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
  CAME(left);
  MPI_Recv_init(to, 1, out, left, kTag, MPI_COMM_WORLD, &two[0]);
  MPI_Send_init(from, 1, in, right, kTag, MPI_COMM_WORLD, &two[1]);
  for (int turn = 0; turn < 2; ++turn) {
    MPI_Startall(2, two);
    MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
    CAME(left);
  }
  for (int i = 0; i < 2; ++i) MPI_Request_free(&two[i]);
  if (ranks > 1) { /* a message that is announced, and one from host memory; then of half of the data alone */
    int* const whole = on_gpu(2 * kBytes);
    number(whole, 10000 * rank);
    number(whole + kNumbers, 10000 * rank + 5000);
    MPI_Irecv(to, 1, out, left, kTag, MPI_COMM_WORLD, &two[0]);
    MPI_Send(whole, 2 * kNumbers, MPI_INT, right, kTag, MPI_COMM_WORLD);
    MPI_Wait(&two[0], MPI_STATUS_IGNORE);
    CAME(left);
    MPI_Irecv(to, 1, out, left, kTag, MPI_COMM_WORLD, &two[0]);
    MPI_Send(whole, kNumbers, MPI_INT, right, kTag, MPI_COMM_WORLD);
    MPI_Wait(&two[0], MPI_STATUS_IGNORE);
    check_numbers(u, 10000 * left, what, step++);
    check(v[0] == -1 && v[kNumbers - 1] == -1, what, v[0]);
    MPI_Irecv(whole, 2 * kNumbers, MPI_INT, left, kTag, MPI_COMM_WORLD, &two[0]);
    MPI_Send(from, 1, in, right, kTag, MPI_COMM_WORLD);
    MPI_Wait(&two[0], MPI_STATUS_IGNORE);
    check_numbers(whole, 10000 * left, what, step++);
    check_numbers(whole + kNumbers, 10000 * left + 5000, what, step++);
    free_on_gpu(whole);
  }
  MPI_Bcast(rank == 0 ? (void*)from : to, 1, rank == 0 ? in : out, 0, MPI_COMM_WORLD);
  if (rank != 0) CAME(0);
  MPI_Ibcast(rank == 0 ? (void*)from : to, 1, rank == 0 ? in : out, 0, MPI_COMM_WORLD, &two[0]);
  MPI_Wait(&two[0], MPI_STATUS_IGNORE);
  if (rank != 0) CAME(0);
  if (from != MPI_BOTTOM) { /* from which MPICH 4.0 does not pack */
    MPI_Pack(from, 1, in, packed, sizeof packed, &position, MPI_COMM_WORLD);
    position = 0;
    MPI_Unpack(packed, sizeof packed, &position, to, 1, out, MPI_COMM_WORLD);
    CAME(rank);
  }
  memcpy(u, x, kBytes);
  memcpy(v, y, kBytes);
  MPI_Sendrecv_replace(to, 1, out, right, kTag, left, kTag, MPI_COMM_WORLD, &status);
  CAME(left);
  MPI_Type_free((MPI_Datatype*)&in);
  MPI_Type_free((MPI_Datatype*)&out);
}

/* Blocks of types of their own, all over memory. */
static void all_to_all(void) {
  MPI_Datatype in[64], out[64];
  int counts[64], places[64];
  for (int i = 0; i < ranks; ++i) {
    const int lengths[1] = {kNumbers / ranks};
    MPI_Aint from, to;
    counts[i] = 1;
    places[i] = 0;
    MPI_Get_address(gpu[i % 2] + i * lengths[0], &from);
    MPI_Get_address(gpu[2 + i % 2] + i * lengths[0], &to);
    MPI_Type_create_hindexed(1, lengths, &from, MPI_INT, &in[i]);
    MPI_Type_create_hindexed(1, lengths, &to, MPI_INT, &out[i]);
    MPI_Type_commit(&in[i]);
    MPI_Type_commit(&out[i]);
  }
  MPI_Alltoallw(MPI_BOTTOM, counts, places, in, MPI_BOTTOM, counts, places, out, MPI_COMM_WORLD);
  for (int i = 0; i < ranks; ++i) {
    const int each = kNumbers / ranks;
    check(gpu[2 + i % 2][i * each] == 10000 * i + rank % 2 * 5000 + rank * each, "alltoallw", i);
    MPI_Type_free(&in[i]);
    MPI_Type_free(&out[i]);
  }
  memset(gpu[2], 0xff, kBytes);
  memset(gpu[3], 0xff, kBytes);
  for (int i = 0; i < ranks; ++i) counts[i] = kNumbers / ranks, places[i] = 5 * kBytes + i * counts[i];
  MPI_Allgatherv(gpu[0], counts[0], MPI_INT, gpu[2] - 5 * kBytes, counts, places, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < ranks; ++i) check(gpu[2][i * counts[i]] == 10000 * i, "allgatherv", i);
  memset(gpu[2], 0xff, kBytes);
}

/* From the window's first rank's memory, and to it. */
static void window(void) {
  static int memory[2 * kNumbers];
  const MPI_Datatype in = across(gpu[0], host[1], gpu[0]), out = across(gpu[2], host[3], gpu[2]);
  MPI_Win made;
  MPI_Win_create(memory, sizeof memory, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &made);
  MPI_Win_fence(0, made);
  MPI_Put(gpu[0], 1, in, right, 0, 2 * kNumbers, MPI_INT, made);
  MPI_Win_fence(0, made);
  MPI_Get(gpu[2], 1, out, rank, 0, 2 * kNumbers, MPI_INT, made);
  MPI_Win_fence(0, made);
  check_numbers(gpu[2], 10000 * left, "put and get", 0);
  check_numbers(host[3], 10000 * left + 5000, "put and get", 1);
  MPI_Win_free(&made);
  MPI_Type_free((MPI_Datatype*)&in);
  MPI_Type_free((MPI_Datatype*)&out);
}

int main(int argc, char** argv) {
  int here = 0, there = 0;
  void* gap;
  begin(&argc, &argv);
  for (int i = 0; i < 4; ++i) {
    gpu[i] = on_gpu(kBytes);
    host[i] = malloc(kBytes);
    number(gpu[i], 10000 * rank + i % 2 * 5000);
    number(host[i], 10000 * rank + i % 2 * 5000);
  }
  gap = on_gpu(1 << 20);
  for (int i = 2; i < 4; ++i) {
    memset(gpu[i], 0xff, kBytes);
    memset(host[i], 0xff, kBytes);
  }
  /* Two GPUs' arrays as seen from the first, the second, the host, and nowhere. */
  send("from the first", gpu[0], gpu[1], gpu[0], gpu[2], gpu[3], gpu[2]);
  send("from the second", gpu[0], gpu[1], gpu[1], gpu[2], gpu[3], gpu[3]);
  send("from the host", gpu[0], gpu[1], &here, gpu[2], gpu[3], &there);
  send("from nowhere", gpu[0], gpu[1], MPI_BOTTOM, gpu[2], gpu[3], MPI_BOTTOM);
  /* Memory of both in one. */
  send("a GPU's and the host's", gpu[0], host[1], gpu[0], gpu[2], host[3], gpu[2]);
  send("the host's and a GPU's", host[0], gpu[1], host[0], host[2], gpu[3], host[2]);
  send("of both, from nowhere", host[0], gpu[1], MPI_BOTTOM, gpu[2], host[3], MPI_BOTTOM);
  send("the host's alone", host[0], host[1], MPI_BOTTOM, host[2], host[3], MPI_BOTTOM);
  all_to_all();
  window();
  for (int i = 0; i < 4; ++i) free_on_gpu(gpu[i]);
  free_on_gpu(gap);
  return end();
}
