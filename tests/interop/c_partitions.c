/* Messages in parts (MPI_Psend_init) of GPU memory, started several times: each part is what it was when the program
 * said that it is there, and one that has come is the program's. test_c_programs.py compiles it for each MPI. */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>

#include "c_ranks.h"

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)

enum { kParts = 4, kLength = 5000, kStarts = 3, kMarked = -9 };

static int *mine, *theirs;

static int given(int of, int start, int part) {
  return of * 1000 + start * 100 + part;
}

static void fill(int* values, int part, int value) {
  for (int i = 0; i < kLength; ++i) values[part * kLength + i] = value;
}

static void check_part(int part, int value, const char* what) {
  for (int i = 0; i < kLength; ++i)
    if (theirs[part * kLength + i] != value) check(0, what, theirs[part * kLength + i]);
}

/* Part 0 alone, then the others by a range and a list. */
static void give(int start, MPI_Request request) {
  static int last[] = {kParts - 1};
  fill(mine, 0, given(rank, start, 0));
  MPI_Pready(0, request);
  for (int part = 1; part < kParts; ++part) fill(mine, part, given(rank, start, part));
  MPI_Pready_range(1, kParts - 2, request);
  MPI_Pready_list(1, last, request);
}

static MPI_Request sending;
static int starts;

static void* give_by_a_thread(void* unused) {
  give(starts, sending);
  return unused;
}

/* The parts are given while this thread asks whether the message is over. */
static void give_meanwhile(MPI_Request* requests) {
  pthread_t thread;
  int over[2] = {0, 0};
  sending = requests[0];
  if (pthread_create(&thread, NULL, &give_by_a_thread, NULL) != 0) abort();
  while (!over[0] || !over[1]) /* MPI_Testall of MPICH, alone, takes such requests for errors */
    for (int i = 0; i < 2; ++i)
      if (!over[i]) MPI_Test(&requests[i], &over[i], MPI_STATUS_IGNORE);
  pthread_join(thread, NULL);
}

#ifdef OMPI_MAJOR_VERSION

/* What is given before its receiver has started waits for it, and comes nowhere else: an MPI may have it already. */
static void give_early(void) {
  MPI_Request requests[2];
  MPI_Psend_init(mine, kParts, kLength, MPI_INT, right, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  MPI_Precv_init(theirs, kParts, kLength, MPI_INT, left, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
  for (int start = 0; start < kStarts; ++start) {
    MPI_Start(&requests[0]);
    give(start, requests[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int part = 0; part < kParts; ++part) fill(theirs, part, -2);
    MPI_Start(&requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int part = 0; part < kParts; ++part) check_part(part, given(left, start, part), "a part given early");
  }
  for (int i = 0; i < 2; ++i) MPI_Request_free(&requests[i]);
}

#else

/* Parts that lie between each other, as columns of a matrix do. */
static void give_columns(void) {
  MPI_Datatype column, part;
  MPI_Request requests[2];
  MPI_Type_vector(kLength, 1, kParts, MPI_INT, &column);
  MPI_Type_create_resized(column, 0, sizeof(int), &part);
  MPI_Type_commit(&part);
  MPI_Psend_init(mine, kParts, 1, part, right, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  MPI_Precv_init(theirs, kParts, 1, part, left, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
  MPI_Type_free(&column);
  MPI_Type_free(&part);
  for (int i = 0; i < kParts * kLength; ++i) mine[i] = given(rank, 0, i % kParts), theirs[i] = -2;
  MPI_Startall(2, requests);
  MPI_Pready_range(0, kParts - 1, requests[0]); /* MPICH, alone, sends none before */
  for (int come = 0; !come;) MPI_Parrived(requests[1], 2, &come);
  for (int i = 0; i < kLength; ++i) {
    check(theirs[i * kParts + 2] == given(left, 0, 2), "a column that has come", i);
    theirs[i * kParts + 2] = kMarked;
  }
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < kParts * kLength; ++i)
    check(theirs[i] == (i % kParts == 2 ? kMarked : given(left, 0, i % kParts)), "columns", i);
  for (int i = 0; i < 2; ++i) MPI_Request_free(&requests[i]);
}

#endif

int main(int argc, char** argv) {
  const int threads = argc > 1 && !strcmp(argv[1], "threads");
  int provided = 0;
  MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  know_ranks();
  if (threads && provided < MPI_THREAD_MULTIPLE) give_up("no threads");
  mine = on_gpu(kParts * kLength * sizeof(int));
  theirs = on_gpu(kParts * kLength * sizeof(int));
  MPI_Request requests[2];
  MPI_Psend_init(mine, kParts, kLength, MPI_INT, right, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  MPI_Precv_init(theirs, kParts, kLength, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
  for (int start = 0; start < (threads ? 100 : kStarts); ++start) {
    for (int part = 0; part < kParts; ++part) fill(mine, part, -1), fill(theirs, part, -2);
    MPI_Startall(2, requests);
    if (threads) {
      starts = start;
      give_meanwhile(requests);
      for (int part = 0; part < kParts; ++part) check_part(part, given(left, start, part), "a part by a thread");
      continue;
    }
    give(start, requests[0]);
    for (int come = 0; !come;) MPI_Parrived(requests[1], 1, &come);
    check_part(1, given(left, start, 1), "a part that has come");
    fill(theirs, 1, kMarked);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    check_part(1, kMarked, "a part that is the program's");
    for (int part = 0; part < kParts; ++part)
      if (part != 1) check_part(part, given(left, start, part), "a part that was waited for");
  }
  for (int i = 0; i < 2; ++i) MPI_Request_free(&requests[i]);
#ifdef OMPI_MAJOR_VERSION /* MPICH, alone, waits for ever */
  if (!threads) give_early();
#else /* Open MPI, alone, crashes */
  if (!threads) give_columns();
#endif
  return end();
}

#else

int main(void) {
  fputs("no parts\n", stdout);
  return 0;
}

#endif
