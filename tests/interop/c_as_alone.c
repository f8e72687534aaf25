/* What MPI says of a call, and when a send is over, is the same with the drop-in as without: each rank prints it, and
 * test_c_programs.py compares. Arguments: what of it. */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "c_ranks.h"

enum { kLong = 100000, kTag = 3 };
static int *mine, *theirs;

static void say(const char* call, int code) {
  int class = -1;
  MPI_Error_class(code, &class);
  printf("rank %d: %s: error class %d\n", rank, call, class);
  fflush(stdout);
}

/* Of its own, since what a rank has refused, another may still wait for. */
static MPI_Comm fresh(void) {
  MPI_Comm made;
  MPI_Comm_dup(MPI_COMM_WORLD, &made);
  MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
  return made;
}

/* ---- synchronous sends ---------------------------------------------------------------------------------------- */

static void await(void) {
  MPI_Recv(NULL, 0, MPI_INT, 1 - rank, kTag + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void let_go_on(void) {
  MPI_Send(NULL, 0, MPI_INT, 1 - rank, kTag + 1, MPI_COMM_WORLD);
}

/* Such a send is not over while its receiver has not called for it. */
static void send_synchronously(int length, int persistent) {
  MPI_Request request;
  if (rank == 0) {
    int over = 0;
    if (persistent) {
      MPI_Ssend_init(mine, length, MPI_INT, 1, kTag, MPI_COMM_WORLD, &request);
      MPI_Start(&request);
    } else {
      MPI_Issend(mine, length, MPI_INT, 1, kTag, MPI_COMM_WORLD, &request);
    }
    for (int i = 0; i < 100 && !over; ++i) {
      usleep(500);
      MPI_Test(&request, &over, MPI_STATUS_IGNORE);
    }
    check(!over, "a synchronous send that nobody has received is over", length);
    let_go_on();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (persistent) MPI_Request_free(&request);
  } else if (rank == 1) {
    await();
    MPI_Recv(theirs, length, MPI_INT, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(theirs[0] == mine[0] && theirs[length - 1] == mine[length - 1], "what has come", theirs[0]);
  }
}

/* The same, where the sender waits. */
static void block(int length) {
  const double late = 0.2;
  if (rank == 0) {
    await();
    const double since = MPI_Wtime();
    MPI_Ssend(mine, length, MPI_INT, 1, kTag, MPI_COMM_WORLD);
    check(MPI_Wtime() - since > late / 4, "MPI_Ssend is over before its receive", length);
  } else if (rank == 1) {
    let_go_on();
    usleep((unsigned)(late * 1e6));
    MPI_Recv(theirs, length, MPI_INT, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(theirs[0] == mine[0] && theirs[length - 1] == mine[length - 1], "what has come", theirs[0]);
  }
}

static void synchronous(void) {
  const int lengths[] = {10, 1000, 10000, kLong};
  for (int i = 0; i < 4; ++i) {
    send_synchronously(lengths[i], 0);
    send_synchronously(lengths[i], 1);
    block(lengths[i]);
  }
}

/* ---- types and operators -------------------------------------------------------------------------------------- */

static void types(void) {
  MPI_Datatype pair;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm here = fresh();
  MPI_Type_contiguous(2, MPI_INT, &pair);
  say("send", MPI_Send(mine, kLong / 2, pair, right, kTag, here));
  say("isend", MPI_Isend(mine, kLong / 2, pair, right, kTag, here, &request));
  say("ssend", MPI_Ssend(mine, kLong / 2, pair, right, kTag, here));
  say("recv", MPI_Recv(theirs, kLong / 2, pair, left, kTag, here, MPI_STATUS_IGNORE));
  say("irecv", MPI_Irecv(theirs, kLong / 2, pair, left, kTag, here, &request));
  say("bcast", MPI_Bcast(mine, kLong / 2, pair, 0, fresh()));
  say("allgather", MPI_Allgather(mine, 100, pair, theirs, 100, pair, fresh()));
  say("ibcast", MPI_Ibcast(mine, kLong / 2, pair, 0, fresh(), &request));
  MPI_Type_commit(&pair);
  MPI_Irecv(theirs, kLong / 2, pair, left, kTag, here, &request);
  say("send of a committed one", MPI_Send(mine, kLong / 2, pair, right, kTag, here));
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  say("bcast of a committed one", MPI_Bcast(mine, kLong / 2, pair, 0, here));
  MPI_Type_free(&pair);
}

static void operators(void) {
  MPI_Datatype one, pair;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Type_contiguous(1, MPI_INT, &one);
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&one);
  MPI_Type_commit(&pair);
  say("allreduce of pairs", MPI_Allreduce(mine, theirs, 1000, pair, MPI_SUM, fresh()));
  say("allreduce of ones", MPI_Allreduce(mine, theirs, 1000, one, MPI_SUM, fresh()));
  say("allreduce of integers", MPI_Allreduce(mine, theirs, 1000, MPI_INT, MPI_SUM, fresh()));
  say("iallreduce of pairs", MPI_Iallreduce(mine, theirs, 1000, pair, MPI_SUM, fresh(), &request));
  say("scan of pairs", MPI_Scan(mine, theirs, 1000, pair, MPI_MAX, fresh()));
  say("reduce_scatter_block of pairs", MPI_Reduce_scatter_block(mine, theirs, 10, pair, MPI_SUM, fresh()));
  MPI_Type_free(&one);
  MPI_Type_free(&pair);
}

/* ---- one buffer for two --------------------------------------------------------------------------------------- */

static void aliases(void) {
  enum { kEach = 100, kMostRanks = 8 };
  int counts[kMostRanks], places[kMostRanks];
  for (int i = 0; i < kMostRanks; ++i) counts[i] = kEach, places[i] = i * kEach;
  int* const own = mine + rank * kEach;
  say("allreduce", MPI_Allreduce(mine, mine, kEach, MPI_INT, MPI_SUM, fresh()));
  say("allreduce of nothing", MPI_Allreduce(mine, mine, 0, MPI_INT, MPI_SUM, fresh()));
  say("allreduce of one", MPI_Allreduce(mine, mine, 1, MPI_INT, MPI_SUM, fresh()));
  say("reduce", MPI_Reduce(mine, mine, kEach, MPI_INT, MPI_SUM, 0, fresh()));
  say("reduce_scatter", MPI_Reduce_scatter(mine, mine, counts, MPI_INT, MPI_SUM, fresh()));
  say("reduce_scatter_block", MPI_Reduce_scatter_block(mine, mine, kEach, MPI_INT, MPI_SUM, fresh()));
  say("scan", MPI_Scan(mine, mine, kEach, MPI_INT, MPI_SUM, fresh()));
  say("exscan", MPI_Exscan(mine, mine, kEach, MPI_INT, MPI_SUM, fresh()));
  say("allgather", MPI_Allgather(own, kEach, MPI_INT, mine, kEach, MPI_INT, fresh()));
  say("allgatherv", MPI_Allgatherv(own, kEach, MPI_INT, mine, counts, places, MPI_INT, fresh()));
  say("gather", MPI_Gather(own, kEach, MPI_INT, mine, kEach, MPI_INT, 0, fresh()));
  say("gatherv", MPI_Gatherv(own, kEach, MPI_INT, mine, counts, places, MPI_INT, 0, fresh()));
  say("alltoall", MPI_Alltoall(mine, kEach, MPI_INT, mine, kEach, MPI_INT, fresh()));
  say("alltoallv", MPI_Alltoallv(mine, counts, places, MPI_INT, mine, counts, places, MPI_INT, fresh()));
}

/* ---- nobody --------------------------------------------------------------------------------------------------- */

static void say_status(const char* call, const MPI_Status* status) {
  int count = -1;
  MPI_Get_count(status, MPI_INT, &count);
  printf("rank %d: %s: source %d, tag %d, %d numbers\n", rank, call, status->MPI_SOURCE, status->MPI_TAG, count);
  fflush(stdout);
}

static void nobody(void) {
  const int none = MPI_PROC_NULL;
  MPI_Request request;
  MPI_Status status;
  /* First: MPICH 4.0 has one status for all of these, which its own MPI_Sendrecv mends. */
  memset(&status, 0x55, sizeof status);
  MPI_Irecv(theirs, kLong, MPI_INT, none, kTag, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, &status);
  say_status("irecv", &status);
  memset(&status, 0x55, sizeof status);
  MPI_Sendrecv(mine, kLong, MPI_INT, none, kTag, theirs, kLong, MPI_INT, none, kTag, MPI_COMM_WORLD, &status);
  say_status("sendrecv", &status);
  memset(&status, 0x55, sizeof status);
  MPI_Sendrecv_replace(mine, kLong, MPI_INT, none, kTag, none, kTag, MPI_COMM_WORLD, &status);
  say_status("sendrecv_replace", &status);
  memset(&status, 0x55, sizeof status);
  MPI_Recv(theirs, kLong, MPI_INT, none, kTag, MPI_COMM_WORLD, &status);
  say_status("recv", &status);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  mine = on_gpu(kLong * sizeof(int));
  theirs = on_gpu(kLong * sizeof(int));
  for (int i = 0; i < kLong; ++i) mine[i] = i + 1;
  /* Each knows that the other uses a GPU. */
  MPI_Sendrecv(mine, kLong, MPI_INT, right, kTag, theirs, kLong, MPI_INT, left, kTag, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* Open MPI tells it what it refuses of reductions */
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 1; i < argc; ++i) {
    if (!strcmp(argv[i], "synchronous")) synchronous();
    if (!strcmp(argv[i], "types")) types();
    if (!strcmp(argv[i], "operators")) operators();
    if (!strcmp(argv[i], "aliases")) aliases();
    if (!strcmp(argv[i], "nobody")) nobody();
  }
  return end();
}
