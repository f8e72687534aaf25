/* Ranks that give different things in one collective call, with GPU memory and MPI_ERRORS_RETURN: all are told an
 * error, no byte of a buffer changes, and the next call is right. The arguments say what differs.
 * test_c_programs.py compiles it for each MPI. */
#define _GNU_SOURCE
#include <string.h>

#include "c_ranks.h"

enum { kMost = 100000, kUntouched = -7 };

static int *mine, *theirs;
static MPI_Comm comm;

/* Rank 1 gives another thing, in a call of `length` elements. MPI's code. */
static int differ(const char* what, int length) {
  const int odd = rank == 1, count = odd ? length / 2 : length;
  MPI_Request request = MPI_REQUEST_NULL;
  int code;
  if (!strcmp(what, "count")) return MPI_Allreduce(mine, theirs, count, MPI_INT, MPI_SUM, comm);
  if (!strcmp(what, "type")) return MPI_Allreduce(mine, theirs, length, odd ? MPI_FLOAT : MPI_INT, MPI_SUM, comm);
  if (!strcmp(what, "operator")) return MPI_Allreduce(mine, theirs, length, MPI_INT, odd ? MPI_MAX : MPI_SUM, comm);
  if (!strcmp(what, "bytes")) return MPI_Bcast(theirs, count, MPI_INT, 0, comm);
  if (!strcmp(what, "root")) return MPI_Bcast(theirs, length, MPI_INT, odd, comm);
  if (!strcmp(what, "block"))
    return MPI_Allgather(mine, count / ranks, MPI_INT, theirs, count / ranks, MPI_INT, comm);
  if (!strcmp(what, "function"))
    return odd ? MPI_Bcast(theirs, length, MPI_INT, 0, comm)
               : MPI_Allreduce(mine, theirs, length, MPI_INT, MPI_SUM, comm);
  check(!strcmp(what, "begun"), "such an argument", 0);
  code = MPI_Iallreduce(mine, theirs, count, MPI_INT, MPI_SUM, comm, &request);
  return code != MPI_SUCCESS ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_name(comm, "workers");
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  mine = on_gpu(kMost * sizeof(int));
  theirs = on_gpu(kMost * sizeof(int));
  for (int i = 1; i < argc; ++i)
    for (int length = 8; length <= kMost; length = length == 8 ? kMost : kMost + 1) {
      for (int k = 0; k < kMost; ++k) mine[k] = rank + 1, theirs[k] = kUntouched;
      const int code = differ(argv[i], length);
      if (code == MPI_SUCCESS) give_up("%s of %d differs, and nobody is told", argv[i], length);
      for (int k = 0; k < kMost; ++k) check(theirs[k] == kUntouched, argv[i], k);
      check(MPI_Allreduce(mine, theirs, length, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS, "the next call", length);
      for (int k = 0; k < length; ++k) check(theirs[k] == ranks * (ranks + 1) / 2, "the next sum", theirs[k]);
      for (int again = 0; again < 5; ++again) {
        MPI_Request request;
        MPI_Iallreduce(mine, theirs, length, MPI_INT, MPI_SUM, comm, &request);
        check(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "one that is begun later", again);
      }
    }
  MPI_Comm_free(&comm);
  return end();
}
