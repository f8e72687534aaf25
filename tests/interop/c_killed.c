/* Ends after some calls as the argument says, where MPI_Finalize is not called: by SIGKILL, by SIGABRT, or by
 * MPI_Abort. test_profiled_ends.py looks for the calls in the profile. */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>

#include "c_ranks.h"

int main(int argc, char** argv) {
  int mine = 1, sum = 0;
  begin(&argc, &argv);
  for (int i = 0; i < 100; ++i) MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (!strcmp(argv[1], "abort")) abort();
  if (!strcmp(argv[1], "MPI_Abort")) MPI_Abort(MPI_COMM_WORLD, 7);
  raise(SIGKILL);
  return 0;
}
