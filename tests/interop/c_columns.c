/* Parts of one matrix in GPU memory that lie between each other: what is received into one leaves the others alone,
 * also what was written there meanwhile. test_c_programs.py compiles it for each MPI. */
#define _GNU_SOURCE
#include <sched.h>

#include "c_ranks.h"

enum { kMost = 300, kKinds = 3, kMostRanks = 8 };

static int *mine, *theirs, of_host[kMost * kMost];

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

/* A message that ends within an element: what came is there, the rest as it was. */
static void cut_short(int size, int kind, int sent, int* into) {
  MPI_Datatype type = column_of(size, kind);
  MPI_Status status;
  int elements = 0;
  for (int i = 0; i < sent; ++i) mine[i] = given(rank, 5, i);
  for (int i = 0; i < size * size; ++i) into[i] = -1;
  MPI_Request request;
  MPI_Irecv(into, 1, type, left, 2, MPI_COMM_WORLD, &request);
  MPI_Send(mine, sent, MPI_INT, right, 2, MPI_COMM_WORLD);
  MPI_Wait(&request, &status);
  MPI_Get_elements(&status, MPI_INT, &elements);
  check(elements == sent, "elements that came", elements);
  for (int row = 0; row < size; ++row) {
    check(into[row * size] == (row < sent ? given(left, 5, row) : -1), "a column that is cut short", row);
    check(into[row * size + 1] == -1, "what lies beside it", row);
  }
  MPI_Type_free(&type);
}

/* From MPI_Request_get_status on it is the program's. */
static void told_before_it_is_completed(int size, int kind) {
  MPI_Datatype type = column_of(size, kind);
  MPI_Request request;
  MPI_Status status;
  int elements = 0, flag = 0;
  for (int i = 0; i < size; ++i) mine[i] = given(rank, 6, i), theirs[i * size] = -1;
  MPI_Irecv(theirs, 1, type, left, 3, MPI_COMM_WORLD, &request);
  MPI_Request sent;
  MPI_Isend(mine, size, MPI_INT, right, 3, MPI_COMM_WORLD, &sent);
  for (; !flag; sched_yield()) MPI_Request_get_status(request, &flag, &status);
  for (int row = 0; row < size; ++row) {
    check(theirs[row * size] == given(left, 6, row), "a column that is told", row);
    theirs[row * size] = -3;
  }
  MPI_Wait(&request, &status);
  MPI_Get_elements(&status, MPI_INT, &elements);
  check(elements == size, "elements of what was told", elements);
  for (int row = 0; row < size; ++row) check(theirs[row * size] == -3, "what is the program's", row);
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
  MPI_Type_free(&type);
}

/* What is too long is told as an error, whoever asked before. */
static void too_long(int size) {
  MPI_Request request, sent;
  MPI_Status status;
  int flag = 0;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int i = 0; i < size; ++i) theirs[i] = -1;
  MPI_Irecv(theirs, size / 2, MPI_INT, left, 4, MPI_COMM_WORLD, &request);
  MPI_Isend(mine, size, MPI_INT, right, 4, MPI_COMM_WORLD, &sent);
  while (!flag)
    if (MPI_Request_get_status(request, &flag, &status) != MPI_SUCCESS) break;
  const int code = MPI_Wait(&request, &status);
  int kind = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &kind);
  check(kind == MPI_ERR_TRUNCATE, "the error of what is too long", kind);
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* The edges of one array go round while a kernel works on what lies between them. */
static void edges(int length) {
  MPI_Comm ring;
  const int dimensions[] = {ranks}, periods[] = {1};
  const int counts[] = {length, length}, sent[] = {length, 2 * length}, received[] = {0, 3 * length};
  MPI_Cart_create(MPI_COMM_WORLD, 1, dimensions, periods, 0, &ring);
  for (int i = 0; i < 4 * length; ++i) mine[i] = given(rank, 0, i % length), theirs[i] = -1;
  MPI_Request request;
  MPI_Ineighbor_alltoallv(mine, counts, sent, MPI_INT, theirs, counts, received, MPI_INT, ring, &request);
  for (int i = length; i < 3 * length; ++i) theirs[i] = -2; /* as a kernel does */
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = length; i < 3 * length; ++i) check(theirs[i] == -2, "what lies between edges", i);
  for (int i = 0; i < length; ++i) {
    check(theirs[i] == given(left, 0, i), "the first edge", i);
    check(theirs[3 * length + i] == given(right, 0, i), "the last edge", i);
  }
  MPI_Comm_free(&ring);
}

/* What is received lies between what is sent, in one array. Not from its beginning: MPICH takes one address for two
 * as an error. */
static void in_a_gap(int length) {
  int counts[kMostRanks], sent[kMostRanks], received[kMostRanks];
  for (int of = 0; of < ranks; ++of) {
    counts[of] = length;
    sent[of] = (of == 0 ? 0 : ranks + of) * length;
    received[of] = (of + 1) * length;
  }
  for (int of = 0; of < ranks; ++of)
    for (int i = 0; i < length; ++i) theirs[sent[of] + i] = given(rank, of, i), theirs[received[of] + i] = -1;
  int places[kMostRanks];
  for (int of = 0; of < ranks; ++of) places[of] = received[of] - length;
  MPI_Alltoallv(theirs, counts, sent, MPI_INT, theirs + length, counts, places, MPI_INT, MPI_COMM_WORLD);
  for (int of = 0; of < ranks; ++of)
    for (int i = 0; i < length; ++i) {
      check(theirs[received[of] + i] == given(of, rank, i), "what came into a gap", theirs[received[of] + i]);
      check(theirs[sent[of] + i] == given(rank, of, i), "what was sent around it", theirs[sent[of] + i]);
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
    cut_short(kMost, kind, kMost / 2, theirs);
    cut_short(kMost, kind, kMost / 2, of_host);
    told_before_it_is_completed(kMost, kind);
  }
  too_long(kMost);
  edges(100);
  in_a_gap(100);
  in_a_gap(5000);
  return end();
}
