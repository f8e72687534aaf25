/* A program whose GPU has no memory left: calls that would have some go another way. The arguments are steps, in
 * their order. */
#define _GNU_SOURCE
#include <string.h>

#include "c_ranks.h"

enum { kCount = 300000, kLonger = 3000000 };

static MPI_Comm comm; /* what calls are on */

/* Of a call that has ended with `code`: what it has brought. */
static void end_of(const char* what, int code, const int* got, int count, int first, int last) {
  check(code == MPI_SUCCESS, what, code);
  check(got[0] == first && got[count - 1] == last, what, got[0]);
}

static void fill(int* data, int count) {
  for (int i = 0; i < count; ++i) data[i] = rank + 1;
}

static int waited(int code, MPI_Request* request) {
  return code != MPI_SUCCESS ? code : MPI_Wait(request, MPI_STATUS_IGNORE);
}

/* Buffers that are there before memory is taken. */
static int *mine, *result;

static void do_sum(void) {
  const int sum = ranks * (ranks + 1) / 2;
  fill(mine, kCount);
  end_of("allreduce", MPI_Allreduce(mine, result, kCount, MPI_INT, MPI_SUM, comm), result, kCount, sum, sum);
}

static void do_collectives(void) {
  const int sum = ranks * (ranks + 1) / 2;
  MPI_Request request;
  do_sum();
  const int code = MPI_Iallreduce(mine, result, kCount, MPI_INT, MPI_SUM, comm, &request);
  end_of("iallreduce", waited(code, &request), result, kCount, sum, sum);
  const int here = (rank + 1) * (rank + 2) / 2;
  end_of("scan", MPI_Scan(mine, result, kCount, MPI_INT, MPI_SUM, comm), result, kCount, here, here);
  end_of("reduce_scatter", MPI_Reduce_scatter_block(mine, result, kCount / ranks, MPI_INT, MPI_SUM, comm), result,
         kCount / ranks, sum, sum);
  int counts[64];
  for (int i = 0; i < ranks; ++i) counts[i] = i == 0 ? kCount / 2 : 1000;
  end_of("reduce_scatter_v", MPI_Reduce_scatter(mine, result, counts, MPI_INT, MPI_SUM, comm), result, counts[rank],
         sum, sum);
}

static void do_messages(void) {
  MPI_Request requests[2];
  fill(mine, kLonger);
  for (int count = 100; count <= kLonger; count *= 173) {
    memset(result, 0, (size_t)count * sizeof(int));
    MPI_Irecv(result, count, MPI_INT, left, 1, comm, &requests[0]);
    MPI_Isend(mine, count, MPI_INT, right, 1, comm, &requests[1]);
    end_of("message", MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), result, count, left + 1, left + 1);
  }
}

static void do_one_sided(void) {
  MPI_Win window;
  int* const origin = malloc(kCount * sizeof(int));
  fill(origin, kCount);
  for (int i = 0; i < kCount; ++i) result[i] = 100;
  MPI_Win_create(result, kCount * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &window);
  MPI_Win_fence(0, window);
  const int code = MPI_Accumulate(origin, kCount, MPI_INT, right, 0, kCount, MPI_INT, MPI_SUM, window);
  MPI_Win_fence(0, window);
  end_of("accumulate", code, result, kCount, 101 + left, 101 + left);
  MPI_Win_free(&window);
  free(origin);
}

static void take_all_memory(void) {
  void* (*allocate)(int, size_t) = NULL;
  *(void**)&allocate = dlsym(RTLD_DEFAULT, "sennit_emulated_allocate");
  for (int device = 0; device < 4; ++device)
    for (size_t bytes = 64 << 20; bytes != 0; bytes /= 2)
      while (allocate(device, bytes) != NULL) continue;
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  comm = MPI_COMM_WORLD;
  mine = on_gpu(kLonger * sizeof(int));
  result = on_gpu(kLonger * sizeof(int));
  for (int i = 1; i < argc; ++i) {
    if (!strcmp(argv[i], "all")) take_all_memory();
    if (!strcmp(argv[i], "one") && rank == ranks - 1) take_all_memory();
    if (!strcmp(argv[i], "sum")) do_sum();
    if (!strcmp(argv[i], "collectives")) do_collectives();
    if (!strcmp(argv[i], "messages")) do_messages();
    if (!strcmp(argv[i], "windows")) do_one_sided();
    if (!strcmp(argv[i], "another")) {
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
      MPI_Comm_set_name(comm, "another");
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  return end();
}
