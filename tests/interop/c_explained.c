/* Calls of each kind with GPU memory, for what SENNIT_EXPLAIN says of them. argv[1]: a file to write. Rank 0 and the
 * rank behind it do all of it, each thing several times. test_explained.py compiles it for each MPI. */
#define _GNU_SOURCE
#include <string.h>

#include "c_ranks.h"

enum { kLong = 1 << 21, kShort = 16, kMiddle = 10000, kTimes = 3 };

static int *mine, *theirs, *host;

/* So many ints each way, by blocking calls and by requests. */
static void exchange(int* from, int* to, int length) {
  MPI_Request requests[2];
  for (int i = 0; i < kTimes; ++i) {
    if (rank == 0) MPI_Send(from, length, MPI_INT, 1, 1, MPI_COMM_WORLD);
    if (rank == 0) MPI_Recv(to, length, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Recv(to, length, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(from, length, MPI_INT, 0, 2, MPI_COMM_WORLD);
    if (rank > 1) continue;
    MPI_Irecv(to, length, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(from, length, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
}

static void columns(void) {
  MPI_Datatype column;
  MPI_Type_vector(256, 1, 1024, MPI_INT, &column);
  MPI_Type_commit(&column);
  for (int i = 0; i < kTimes; ++i) {
    if (rank == 0) MPI_Send(mine, 1, column, 1, 4, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(theirs, 1, column, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Type_free(&column);
}

static void windows(void) {
  MPI_Win window;
  const int one = 1, two = 2;
  int found = 0;
  MPI_Win_create(theirs, kLong * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  for (int i = 0; i < kTimes; ++i) {
    MPI_Win_fence(0, window);
    if (rank == 0) MPI_Put(mine, kShort, MPI_INT, 1, 0, kShort, MPI_INT, window);
    if (rank == 0) MPI_Accumulate(mine, kMiddle, MPI_INT, 1, kMiddle, kMiddle, MPI_INT, MPI_SUM, window);
    MPI_Win_fence(0, window);
    if (rank == 0) MPI_Compare_and_swap(&one, &two, &found, MPI_INT, 1, 0, window);
    MPI_Win_fence(0, window);
  }
  MPI_Win_free(&window);
}

int main(int argc, char** argv) {
  MPI_File file;
  begin(&argc, &argv);
  mine = on_gpu(kLong * sizeof(int));
  theirs = on_gpu(kLong * sizeof(int));
  host = malloc(kLong * sizeof(int));
  memset(mine, 0, kLong * sizeof(int));
  exchange(mine, theirs, kShort);
  exchange(mine, theirs, kMiddle);
  exchange(mine, theirs, kLong);
  exchange(host, host, kMiddle);
  columns();
  windows();
  for (int i = 0; i < kTimes; ++i)
    MPI_Allreduce(mine, rank == 1 ? host : theirs, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < kTimes; ++i) MPI_Allreduce(mine, theirs, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (MPI_File_open(MPI_COMM_WORLD, argv[argc - 1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) !=
      MPI_SUCCESS)
    give_up("no file %s", argv[argc - 1]);
  for (int i = 0; i < kTimes; ++i) MPI_File_write_at(file, rank * 64, mine, kShort, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  return end();
}
