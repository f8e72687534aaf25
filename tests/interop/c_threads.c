/* Threads of each rank that communicate all at once (MPI_THREAD_MULTIPLE): each draws collectives and messages of
 * every length from its own row of random numbers, which is the same on all ranks, and where its buffers are from one
 * that is not. Collectives are on a communicator of the thread's; messages also on one that all threads share, with a
 * tag each. Everything that comes is checked. test_c_programs.py compiles it for each MPI.
 *
 *   c_threads [threads [calls of each [seed [a bit for each operation, in their order [longest length: 2 to this]]]]]
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "c_ranks.h"

enum { kMostThreads = 16, kAtOnce = 4 };
enum operation {
  allreduce,
  allreduce_in_place,
  reduce,
  broadcast,
  allgather,
  all_to_all,
  barrier,
  iallreduce,
  duplicate,
  nonblocking,
  blocking,
  exchange,
  probed,
  matched,
  tested,
  window,
  kOperations
};
static const char* const names[kOperations] = {
    "allreduce", "allreduce in place", "reduce",   "broadcast", "allgather", "all to all", "barrier", "iallreduce",
    "duplicate", "nonblocking",        "blocking", "exchange",  "probed",    "matched",    "tested",  "window"};

struct worker {
  pthread_t thread;
  int number;
  unsigned common, own; /* random numbers: all ranks', and this rank's */
  MPI_Comm comm;
  int *on_gpu[2], *on_host[2]; /* of `longest` each; what is sent, and what comes */
};

static int calls, doublings = 19, longest;
static unsigned operations = ~0U;
static MPI_Comm shared;

static void fail(const struct worker* me, int call, enum operation what, int length, const char* how) {
  give_up("thread %d, call %d: %s of %d: %s", me->number, call, names[what], length, how);
}

/* What a rank gives in a call: small, so that no sum overflows. */
static int given(int of, int thread, int call, int at) {
  return (of * 31 + thread * 7 + call * 3 + at) % 1009;
}

static int summed(int thread, int call, int at) {
  int sum = 0;
  for (int r = 0; r < ranks; ++r) sum += given(r, thread, call, at);
  return sum;
}

/* From 8 bytes on, each power of two as often. */
static int draw_length(unsigned* seed) {
  const int most = 2 << rand_r(seed) % doublings;
  return most + rand_r(seed) % (most < longest ? most : 1);
}

static void messages(struct worker* me, enum operation what, int call, int length, MPI_Comm comm, int* mine,
                     int* came) {
  MPI_Request requests[2 * kAtOnce];
  MPI_Status status;
  MPI_Message message;
  int flag = 0;
  const int tag = me->number, part = length / kAtOnce;
  switch (what) {
    case nonblocking:
      MPI_Irecv(came, length, MPI_INT, left, tag, comm, &requests[0]);
      MPI_Isend(mine, length, MPI_INT, right, tag, comm, &requests[1]);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      break;
    case blocking:
      if (rank % 2 == 0) MPI_Send(mine, length, MPI_INT, right, tag, comm);
      MPI_Recv(came, longest, MPI_INT, left, tag, comm, &status);
      if (rank % 2 != 0) MPI_Send(mine, length, MPI_INT, right, tag, comm);
      MPI_Get_count(&status, MPI_INT, &flag);
      if (flag != length || status.MPI_SOURCE != left) fail(me, call, what, flag, "is what the status tells");
      break;
    case exchange:
      MPI_Sendrecv(mine, length, MPI_INT, right, tag, came, length, MPI_INT, left, tag, comm, MPI_STATUS_IGNORE);
      break;
    case probed:
      MPI_Isend(mine, length, MPI_INT, right, tag, comm, &requests[0]);
      MPI_Probe(MPI_ANY_SOURCE, tag, comm, &status);
      MPI_Get_count(&status, MPI_INT, &flag);
      if (flag != length) fail(me, call, what, flag, "is what the probe tells");
      MPI_Recv(came, flag, MPI_INT, status.MPI_SOURCE, tag, comm, MPI_STATUS_IGNORE);
      MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
      break;
    case matched:
      MPI_Isend(mine, length, MPI_INT, right, tag, comm, &requests[0]);
      for (; !flag; sched_yield()) MPI_Improbe(left, tag, comm, &flag, &message, &status);
      MPI_Get_count(&status, MPI_INT, &flag);
      if (flag != length) fail(me, call, what, flag, "is what the probe tells");
      MPI_Mrecv(came, length, MPI_INT, &message, MPI_STATUS_IGNORE);
      MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
      break;
    case tested:
      MPI_Irecv(came, length, MPI_INT, left, tag, comm, &requests[0]);
      MPI_Issend(mine, length, MPI_INT, right, tag, comm, &requests[1]);
      for (; !flag; sched_yield()) MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
      break;
    default: /* a window of parts, the last of which takes the rest */
      for (int i = 0; i < kAtOnce; ++i) {
        const int count = i < kAtOnce - 1 ? part : length - i * part;
        MPI_Irecv(came + i * part, count, MPI_INT, left, tag, comm, &requests[i]);
        MPI_Isend(mine + i * part, count, MPI_INT, right, tag, comm, &requests[kAtOnce + i]);
      }
      for (int open = 2 * kAtOnce; open > 0;) {
        int ended = 0, which[2 * kAtOnce];
        MPI_Waitsome(2 * kAtOnce, requests, &ended, which, MPI_STATUSES_IGNORE);
        open -= ended;
        for (int i = 0; i < ended; ++i)
          if (requests[which[i]] != MPI_REQUEST_NULL) fail(me, call, what, which[i], "has ended, and is there");
      }
  }
  for (int i = 0; i < length; ++i)
    if (came[i] != given(left, me->number, call, i)) fail(me, call, what, length, "a wrong element came");
}

static void collective(struct worker* me, enum operation what, int call, int length, int* mine, int* came) {
  const int root = call % ranks, part = length / ranks;
  int* result = came;
  MPI_Request request;
  MPI_Comm twin;
  switch (what) {
    case allreduce: MPI_Allreduce(mine, came, length, MPI_INT, MPI_SUM, me->comm); break;
    case iallreduce:
      MPI_Iallreduce(mine, came, length, MPI_INT, MPI_SUM, me->comm, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      break;
    case allreduce_in_place:
      MPI_Allreduce(MPI_IN_PLACE, mine, length, MPI_INT, MPI_SUM, me->comm);
      result = mine;
      break;
    case duplicate:
      MPI_Comm_dup(me->comm, &twin);
      MPI_Allreduce(mine, came, length, MPI_INT, MPI_SUM, twin);
      MPI_Comm_free(&twin);
      break;
    case reduce:
      MPI_Reduce(mine, came, length, MPI_INT, MPI_SUM, root, me->comm);
      if (rank != root) return;
      break;
    case broadcast:
      MPI_Bcast(mine, length, MPI_INT, root, me->comm);
      for (int i = 0; i < length; ++i)
        if (mine[i] != given(root, me->number, call, i)) fail(me, call, what, length, "a wrong element");
      return;
    case allgather:
    case all_to_all:
      if (what == allgather) MPI_Allgather(mine, part, MPI_INT, came, part, MPI_INT, me->comm);
      if (what == all_to_all) MPI_Alltoall(mine, part, MPI_INT, came, part, MPI_INT, me->comm);
      for (int i = 0; i < part * ranks; ++i) {
        const int at = what == allgather ? i % part : rank * part + i % part;
        if (came[i] != given(i / part, me->number, call, at)) fail(me, call, what, part, "a wrong element");
      }
      return;
    default: MPI_Barrier(me->comm); return;
  }
  for (int i = 0; i < length; ++i)
    if (result[i] != summed(me->number, call, i)) fail(me, call, what, length, "a wrong sum");
}

static void* work(void* worker) {
  struct worker* const me = worker;
  for (int call = 0; call < calls; ++call) {
    const enum operation what = (enum operation)(rand_r(&me->common) % kOperations);
    if (!(operations >> what & 1)) continue;
    const int length = draw_length(&me->common), all_on_gpu = rand_r(&me->common) % 2;
    MPI_Comm const comm = rand_r(&me->common) % 2 ? me->comm : shared;
    /* Half of the calls have GPU memory alone; else it is as each rank likes. */
    const int places = all_on_gpu ? 3 : rand_r(&me->own) % 4;
    int* const mine = places & 1 ? me->on_gpu[0] : me->on_host[0];
    int* const came = places & 2 ? me->on_gpu[1] : me->on_host[1];
    for (int i = 0; i < length; ++i) {
      mine[i] = given(rank, me->number, call, i);
      came[i] = -1;
    }
    if (what < nonblocking)
      collective(me, what, call, length, mine, came);
    else
      messages(me, what, call, length, comm, mine, came);
  }
  return NULL;
}

int main(int argc, char** argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 4, seed = argc > 3 ? atoi(argv[3]) : 1;
  calls = argc > 2 ? atoi(argv[2]) : 100;
  if (argc > 4) operations = (unsigned)strtoul(argv[4], NULL, 0);
  if (argc > 5) doublings = atoi(argv[5]);
  longest = 1 << doublings;
  static struct worker workers[kMostThreads];
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  know_ranks();
  if (provided < MPI_THREAD_MULTIPLE || threads > kMostThreads) {
    if (rank == 0) fputs("no such threads\n", stdout);
    MPI_Finalize();
    return 0;
  }
  MPI_Comm_dup(MPI_COMM_WORLD, &shared);
  for (int i = 0; i < threads; ++i) {
    struct worker* const one = &workers[i];
    one->number = i;
    one->common = (unsigned)(seed * 100 + i);
    one->own = (unsigned)(seed * 10000 + i * 100 + rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &one->comm);
    for (int k = 0; k < 2; ++k) {
      one->on_gpu[k] = on_gpu((size_t)longest * sizeof(int));
      one->on_host[k] = malloc((size_t)longest * sizeof(int));
    }
  }
  for (int i = 0; i < threads; ++i)
    if (pthread_create(&workers[i].thread, NULL, &work, &workers[i]) != 0) abort();
  for (int i = 0; i < threads; ++i) {
    pthread_join(workers[i].thread, NULL);
    MPI_Comm_free(&workers[i].comm);
  }
  MPI_Comm_free(&shared);
  return end();
}
