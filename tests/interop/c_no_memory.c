/* A program whose host memory ends in the midst of calls, as far as the drop-in goes: its own malloc() has none for
 * what C++ asks for. test_c_programs.py compiles it for each MPI. */
#define _GNU_SOURCE
#include <string.h>

#include "c_ranks.h"

enum { kCount = 100000 };

static __thread int lots = -1; /* how often there is some; negative: always */

extern void* __libc_malloc(size_t bytes);
void* malloc(size_t bytes);
void* malloc(size_t bytes) {
  if (lots < 0) return __libc_malloc(bytes);
  Dl_info caller;
  const int known = dladdr(__builtin_return_address(0), &caller);
  const int ours = known && (strstr(caller.dli_fname, "libstdc++") != NULL || strstr(caller.dli_fname, "libsennit"));
  if (ours && lots-- == 0) return lots = 0, NULL;
  return __libc_malloc(bytes);
}

static MPI_Request requests[2];

/* Starts it, with memory for more and more until it has enough. How often it had not. */
static int start(MPI_Request* request) {
  for (int enough = 0;; ++enough) {
    lots = enough;
    const int code = MPI_Start(request);
    lots = -1;
    int class = MPI_SUCCESS;
    if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
    if (class == MPI_SUCCESS) return enough;
    check(class == MPI_ERR_NO_MEM && enough < 1000, "what a start without memory is told", class);
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int *const mine = on_gpu(kCount * sizeof(int)), *const theirs = on_gpu(kCount * sizeof(int));
  for (int i = 0; i < kCount; ++i) mine[i] = rank, theirs[i] = -1;
  MPI_Recv_init(theirs, kCount, MPI_INT, left, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(mine, kCount, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[1]);
  const int lacked = start(&requests[0]);
  check(lacked > 0 || getenv("SENNIT_REPORT") == NULL, "how often a start lacked memory", lacked);
  MPI_Start(&requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  check(theirs[0] == left && theirs[kCount - 1] == left, "what came", theirs[0]);
  for (int i = 0; i < 2; ++i) MPI_Request_free(&requests[i]);
  return end();
}
