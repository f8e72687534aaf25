/* Ends by SIGKILL after some calls, on all ranks: test_profiled.py looks for them in the profile. */
#define _GNU_SOURCE
#include <signal.h>

#include "c_ranks.h"

int main(int argc, char** argv) {
  int mine = 1, sum = 0;
  begin(&argc, &argv);
  for (int i = 0; i < 100; ++i) MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  raise(SIGKILL);
  return 0;
}
