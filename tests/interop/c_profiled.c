/* What test_profiled.py knows the numbers of: requests that end in every way, polls that find nothing, and phases.
 * Two ranks send each other messages of kSent numbers, for which there is room for kRoom. */
#define _GNU_SOURCE
#include "c_ranks.h"

#include "../../include/sennit/profile.h"

enum { kSent = 100, kRoom = 200, kTimes = 3 };
static double mine[kSent], theirs[4][kRoom];

static void post(int tag, MPI_Request* receive, MPI_Request* send) {
  MPI_Irecv(theirs[0], kRoom, MPI_DOUBLE, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, receive);
  MPI_Isend(mine, kSent, MPI_DOUBLE, right, tag, MPI_COMM_WORLD, send);
}

int main(int argc, char** argv) {
  MPI_Request requests[4], one = MPI_REQUEST_NULL;
  int index, flag = 0, ended = 0, indices[4];
  check(sennit_profile_phase("early") == (dlsym(RTLD_DEFAULT, "sennit_emulated_holder") != NULL), "a phase", 0);
  begin(&argc, &argv);

  (void)sennit_profile_phase("exchange");
  post(1, &requests[0], &requests[1]);
  post(2, &requests[2], &requests[3]);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  post(3, &requests[0], &requests[1]);
  for (int i = 0; i < 2; ++i) MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
  post(4, &requests[0], &requests[1]);
  for (int all = 0; all < 2; all += ended) MPI_Waitsome(2, requests, &ended, indices, MPI_STATUSES_IGNORE);
  post(5, &requests[0], &requests[1]);
  for (flag = 0; !flag;) MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
  (void)sennit_profile_phase(NULL);

  MPI_Send_init(mine, kSent, MPI_DOUBLE, right, 6, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(theirs[0], kRoom, MPI_DOUBLE, left, 6, MPI_COMM_WORLD, &requests[1]);
  for (int i = 0; i < kTimes; ++i) {
    MPI_Startall(2, requests);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    for (flag = 0; !flag;) MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < 2; ++i) MPI_Request_free(&requests[i]);

  MPI_Irecv(theirs[1], kRoom, MPI_DOUBLE, MPI_ANY_SOURCE, 90, MPI_COMM_WORLD, &one);
  MPI_Cancel(&one);
  MPI_Wait(&one, MPI_STATUS_IGNORE);
  MPI_Isend(mine, kSent, MPI_DOUBLE, right, 7, MPI_COMM_WORLD, &one);
  MPI_Request_free(&one);
  MPI_Recv(theirs[1], kRoom, MPI_DOUBLE, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Ibarrier(MPI_COMM_WORLD, &one);
  MPI_Wait(&one, MPI_STATUS_IGNORE);

  /* A request that some library ends, which has its own way to the MPI. */
  MPI_Irecv(theirs[1], kRoom, MPI_DOUBLE, left, 8, MPI_COMM_WORLD, &one);
  MPI_Send(mine, kSent, MPI_DOUBLE, right, 8, MPI_COMM_WORLD);
  PMPI_Wait(&one, MPI_STATUS_IGNORE);
  for (int i = 0; i < 2; ++i) { /* its handle, sooner or later */
    MPI_Irecv(theirs[i], kRoom, MPI_DOUBLE, left, 9, MPI_COMM_WORLD, &requests[i]);
    MPI_Irecv(theirs[2 + i], kRoom, MPI_DOUBLE, left, 10, MPI_COMM_WORLD, &requests[2 + i]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 4; ++i) MPI_Send(mine, kSent, MPI_DOUBLE, right, 9 + i % 2, MPI_COMM_WORLD);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);

  /* Two allocations at once, a window, and what is attached to another one and goes with it. */
  void *first, *second;
  MPI_Win window;
  MPI_Alloc_mem(1000, MPI_INFO_NULL, &first);
  MPI_Alloc_mem(500, MPI_INFO_NULL, &second);
  MPI_Free_mem(first);
  MPI_Alloc_mem(100, MPI_INFO_NULL, &first);
  MPI_Free_mem(second);
  MPI_Win_create(mine, sizeof mine, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_free(&window);
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_attach(window, theirs[0], 64);
  MPI_Win_attach(window, theirs[1], 32);
  MPI_Win_detach(window, theirs[0]);
  MPI_Win_detach(window, theirs[1]);
  MPI_Win_free(&window);

  MPI_Pcontrol(2);
  for (int i = 0; i < 5; ++i) MPI_Iprobe(MPI_ANY_SOURCE, 91, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  MPI_Pcontrol(1);
  return end();
}
