/* What test_profiled.py knows the numbers of: two ranks, whose calls are not recorded for a while. MPI begins in a
 * pause, requests end in one and begin in one, and a rank's pause is shorter than the other's. */
#define _GNU_SOURCE
#include "c_ranks.h"

#include <unistd.h>

#include "../../include/sennit/profile.h"

enum { kLength = 100, kPauseUs = 50000 };
static double mine[kLength], theirs[kLength], sums[kLength];

static void post(int tag, MPI_Request* requests) {
  MPI_Irecv(theirs, kLength, MPI_DOUBLE, left, tag, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(mine, kLength, MPI_DOUBLE, right, tag, MPI_COMM_WORLD, &requests[1]);
}
static void add(MPI_Comm comm, int times) {
  for (int i = 0; i < times; ++i) MPI_Allreduce(mine, sums, kLength, MPI_DOUBLE, MPI_SUM, comm);
}

int main(int argc, char** argv) {
  MPI_Comm made, gone;
  MPI_Request requests[4];
  const int is_profiled = dlsym(RTLD_DEFAULT, "sennit_emulated_holder") != NULL;
  check(sennit_profile_pause(1) == is_profiled, "a pause before MPI", 0);
  begin(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &made);
  check(sennit_profile_pause(0) == is_profiled, "its end", 0);
  check(sennit_profile_pause(0) == is_profiled, "its end again", 0);

  post(1, requests);
  (void)sennit_profile_pause(1);
  post(2, &requests[2]);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  usleep(kPauseUs);
  add(made, 1);
  if (rank == 1) (void)sennit_profile_pause(0);
  add(made, 2);
  if (rank == 1) (void)sennit_profile_pause(1);
  MPI_Comm_dup(made, &gone);
  MPI_Comm_free(&gone);
  (void)sennit_profile_pause(0);

  MPI_Wait(&requests[3], MPI_STATUS_IGNORE); /* begun in the pause */
  post(3, requests);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  add(made, 3);
  MPI_Comm_free(&made);
  return end();
}
