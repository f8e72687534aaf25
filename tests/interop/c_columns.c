/* Parts of one matrix in GPU memory that lie between each other: what is received into one leaves the others alone,
 * also what was written there meanwhile. test_c_programs.py compiles it for each MPI. */
#define _GNU_SOURCE
#include "c_ranks.h"

enum { kMost = 300, kKinds = 3 };

static int *mine, *theirs;

/* Element `row` of column `column`. */
static int given(int of, int column, int row) {
  return of * 100000 + column * 1000 + row;
}

/* A column of a matrix of `size` x `size`: rows of one distance, rows of any, the same with large counts. */
static MPI_Datatype column_of(int size, int kind) {
  static int lengths[kMost], places[kMost];
  MPI_Datatype type;
#if MPI_VERSION >= 4
  if (kind == 2) {
    MPI_Type_vector_c(size, 1, size, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
  }
#endif
  for (int row = 0; row < size; ++row) lengths[row] = 1, places[row] = row * size;
  if (kind == 1)
    MPI_Type_indexed(size, lengths, places, MPI_INT, &type);
  else
    MPI_Type_vector(size, 1, size, MPI_INT, &type);
  MPI_Type_commit(&type);
  return type;
}

static void exchange(int size, int kind) {
  MPI_Request requests[4];
  MPI_Datatype type = column_of(size, kind);
  for (int row = 0; row < size; ++row)
    for (int column = 0; column < size; ++column) {
      mine[row * size + column] = given(rank, column, row);
      theirs[row * size + column] = -1;
    }
  MPI_Irecv(theirs, 1, type, left, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(theirs + size - 1, 1, type, left, 1, MPI_COMM_WORLD, &requests[1]);
  for (int row = 0; row < size; ++row) theirs[row * size + 1] = -2; /* as a kernel does */
  MPI_Isend(mine, 1, type, right, 0, MPI_COMM_WORLD, &requests[2]);
  MPI_Isend(mine + size - 1, 1, type, right, 1, MPI_COMM_WORLD, &requests[3]);
  MPI_Type_free(&type);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  for (int row = 0; row < size; ++row) {
    const int* const at = theirs + row * size;
    check(at[0] == given(left, 0, row), "the first column", row);
    check(at[1] == -2, "what was written meanwhile", row);
    check(at[2] == -1, "what nobody wrote", row);
    check(at[size - 1] == given(left, size - 1, row), "the last column", row);
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  mine = on_gpu(kMost * kMost * sizeof(int));
  theirs = on_gpu(kMost * kMost * sizeof(int));
  for (int kind = 0; kind < kKinds; ++kind) {
    exchange(16, kind);
    exchange(120, kind);
    exchange(kMost, kind);
  }
  return end();
}
