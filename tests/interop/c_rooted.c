/* Calls that have a root, of one group and of two, in place and not: of two ranks, each of which is the root. What
 * they are counted as is known to test_counted.py. */
#define _GNU_SOURCE
#include "c_ranks.h"

enum { kMost = 64, kCount = 10 };
static int mine[kMost], theirs[kMost];
static int counts[2], places[2];

static void one_group(int root) {
  const int is_root = rank == root;
  void* const own = is_root ? MPI_IN_PLACE : (void*)mine;
  MPI_Bcast(mine, kCount, MPI_INT, root, MPI_COMM_WORLD);
  MPI_Reduce(mine, is_root ? theirs : NULL, kCount, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
  MPI_Reduce(own, is_root ? theirs : NULL, kCount, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
  MPI_Gather(mine, kCount, MPI_INT, theirs, kCount, MPI_INT, root, MPI_COMM_WORLD);
  MPI_Gather(own, is_root ? 0 : kCount, MPI_INT, theirs, kCount, MPI_INT, root, MPI_COMM_WORLD);
  MPI_Scatter(mine, kCount, MPI_INT, theirs, kCount, MPI_INT, root, MPI_COMM_WORLD);
  MPI_Scatter(mine, kCount, MPI_INT, is_root ? MPI_IN_PLACE : theirs, kCount, MPI_INT, root, MPI_COMM_WORLD);
  MPI_Gatherv(mine, counts[rank], MPI_INT, theirs, counts, places, MPI_INT, root, MPI_COMM_WORLD);
  MPI_Gatherv(own, is_root ? 0 : counts[rank], MPI_INT, theirs, counts, places, MPI_INT, root, MPI_COMM_WORLD);
  MPI_Scatterv(mine, counts, places, MPI_INT, theirs, counts[rank], MPI_INT, root, MPI_COMM_WORLD);
  MPI_Scatterv(mine, counts, places, MPI_INT, is_root ? MPI_IN_PLACE : theirs, counts[rank], MPI_INT, root,
               MPI_COMM_WORLD);
}

static void two_groups(MPI_Comm both, int root) {
  const int which = rank == root ? MPI_ROOT : 0;
  MPI_Bcast(mine, kCount, MPI_INT, which, both);
  MPI_Reduce(mine, theirs, kCount, MPI_INT, MPI_SUM, which, both);
  MPI_Gather(mine, kCount, MPI_INT, theirs, kCount, MPI_INT, which, both);
  MPI_Scatter(mine, kCount, MPI_INT, theirs, kCount, MPI_INT, which, both);
  MPI_Gatherv(mine, kCount, MPI_INT, theirs, counts, places, MPI_INT, which, both);
  MPI_Scatterv(mine, counts, places, MPI_INT, theirs, kCount, MPI_INT, which, both);
}

int main(int argc, char** argv) {
  MPI_Comm alone, both;
  begin(&argc, &argv);
  for (int i = 0; i < 2; ++i) {
    counts[i] = kCount + 3 * i;
    places[i] = 20 * i;
  }
  for (int root = 0; root < 2; ++root) one_group(root);
  MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &alone);
  MPI_Intercomm_create(alone, 0, MPI_COMM_WORLD, 1 - rank, 7, &both);
  counts[0] = kCount;
  for (int root = 0; root < 2; ++root) two_groups(both, root);
  MPI_Comm_free(&both);
  MPI_Comm_free(&alone);
  return end();
}
