/* Programs of NCCL about the end of a communicator: what is waited for then, and who is gone before.
 * The file is long, as each way to end is one. */
#define _GNU_SOURCE
#include "c_nccl.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

/* By handlers of the program's that run at its end, behind sennit's own. */
static void end_late(void) {
  check(ncclAllReduce(in, out, 100, ncclFloat, ncclSum, comm, NULL), "allreduce at the end");
  expect_sums(out, 100, "allreduce at the end");
  end();
}
void ended_late(void) {
  atexit(end_late);
  init();
  buffers();
  fill(100);
  check(ncclAllReduce(in, out, 100, ncclFloat, ncclSum, comm, NULL), "allreduce");
}

static void* reduce_alone(void* result) {
  *(ncclResult_t*)result = ncclAllReduce(in, out, 100, ncclFloat, ncclSum, comm, NULL);
  return NULL;
}

static void* reduce_long(void* result) {
  *(ncclResult_t*)result = ncclAllReduce(in, out, 70000, ncclFloat, ncclSum, comm, NULL);
  return NULL;
}

static void* reduce_more(void* result) {
  *(ncclResult_t*)result = ncclAllReduce(in, out, rank == 0 ? 1000 : 1500, ncclFloat, ncclSum, comm, NULL);
  return NULL;
}

static void* reduce_or_broadcast(void* result) {
  *(ncclResult_t*)result = rank == 0 ? ncclAllReduce(in, out, 1000, ncclFloat, ncclSum, comm, NULL)
                                     : ncclBroadcast(in, out, 1000, ncclFloat, 1, comm, NULL);
  return NULL;
}

/* The ranks' calls do not match; a watchdog's thread looks, and ends them. */
static void mismatch(void* (*calls)(void*)) {
  init();
  buffers();
  fill(2000);
  check(ncclAllReduce(in, out, 100, ncclFloat, ncclSum, comm, NULL), "allreduce");
  pthread_t thread;
  ncclResult_t result = ncclSuccess;
  pthread_create(&thread, NULL, calls, &result);
  for (int i = 0; i < 10; ++i) {
    ncclResult_t state = ncclInternalError;
    usleep(50000);
    check(ncclCommGetAsyncError(comm, &state), "ask");
    expect(state == ncclSuccess, "an error that is none", state);
  }
  /* No rank ends it while another one still asks. */
  for (int of = 0; of < size; ++of) {
    const char name[] = {(char)('0' + of), 0};
    (void)meet_by(name, rank == of, NULL);
  }
  check(ncclCommAbort(comm), "abort");
  pthread_join(thread, NULL);
  printf("all right\n");
}
void mismatched(void) {
  mismatch(reduce_more);
}
void mismatched_between(void) {
  mismatch(reduce_or_broadcast);
}

/* Calls that move nothing, and those that NCCL refuses, meet nobody: that this rank comes late afterwards is no
 * mismatch. */
void uneven(void) {
  init();
  buffers();
  fill(100);
  if (rank == 1) {
    check(ncclAllReduce(in, out, 0, ncclFloat, ncclSum, comm, NULL), "an empty allreduce");
    const ncclResult_t refused = ncclAllReduce(in, out, 100, (ncclDataType_t)99, ncclSum, comm, NULL);
    expect(refused == ncclInvalidArgument, "a type that there is not", refused);
  }
  pthread_t thread;
  ncclResult_t result = ncclSuccess;
  if (rank != 1) pthread_create(&thread, NULL, reduce_alone, &result);
  for (int i = 0; i < 10; ++i) {
    ncclResult_t state = ncclInternalError;
    usleep(20000);
    check(ncclCommGetAsyncError(comm, &state), "ask");
    expect(state == ncclSuccess, "an error that is none", state);
  }
  if (rank == 1)
    reduce_alone(&result);
  else
    pthread_join(thread, NULL);
  check(result, "allreduce");
  expect_sums(out, 100, "allreduce");
  end();
}

/* Rank 0 does not come, and the others end what waits for it. */
void aborted(void) {
  init();
  buffers();
  fill(100);
  if (rank != 0) {
    pthread_t thread;
    ncclResult_t result = ncclSuccess;
    pthread_create(&thread, NULL, reduce_alone, &result);
    usleep(200000);
    check(ncclCommAbort(comm), "abort");
    pthread_join(thread, NULL);
    expect(result != ncclSuccess, "what waited ended well", 0);
  } else {
    usleep(400000);
    check(ncclCommAbort(comm), "abort");
  }
  /* A program may try again. */
  check(ncclCommInitRank(&comm, size, meet("again"), rank), "again");
  check(ncclAllReduce(in, out, 100, ncclFloat, ncclSum, comm, NULL), "allreduce");
  expect_sums(out, 100, "again");
  /* In the middle of a group, as a watchdog's thread may: its calls are errors. */
  for (int messages = 0; messages < 2; ++messages) {
    ncclComm_t other;
    check(ncclCommInitRank(&other, size, meet(messages ? "messages" : "group"), rank), "another");
    check(ncclGroupStart(), "start");
    if (messages) {
      check(ncclSend(in, 100, ncclFloat, (rank + 1) % size, other, NULL), "send");
      check(ncclRecv(out, 100, ncclFloat, (rank + size - 1) % size, other, NULL), "receive");
    } else {
      check(ncclAllReduce(in, out, 100, ncclFloat, ncclSum, other, NULL), "allreduce");
    }
    check(ncclCommAbort(other), "abort");
    const ncclResult_t result = ncclGroupEnd();
    expect(result != ncclSuccess, "a group of what was aborted", result); /* NCCL has another one for its own */
  }
  check(ncclAllReduce(in, out, 100, ncclFloat, ncclSum, comm, NULL), "allreduce");
  expect_sums(out, 100, "after it");
  end();
}

#if NCCL_VERSION_CODE >= 22800 && !defined(OLD)
/* Rank 0 does not come, and the others end what waits for it, but keep the communicator, and make another one of it.
 */
void revoked(void) {
  init();
  buffers();
  fill(100);
  check(ncclAllReduce(in, out, 100, ncclFloat, ncclSum, comm, NULL), "allreduce");
  expect_sums(out, 100, "allreduce");
  pthread_t thread;
  ncclResult_t result = ncclSuccess;
  if (rank != 0) pthread_create(&thread, NULL, reduce_alone, &result);
  usleep(200000);
  check(ncclCommRevoke(comm, NCCL_REVOKE_DEFAULT), "revoke");
  if (rank != 0) pthread_join(thread, NULL);
  expect(rank == 0 || result != ncclSuccess, "what waited ended well", 0);
  result = ncclAllReduce(in, out, 100, ncclFloat, ncclSum, comm, NULL);
  expect(result != ncclSuccess, "a call of what was revoked", result);
  int without[] = {0};
  ncclComm_t rest = NULL;
  if (rank != 0) {
    check(ncclCommShrink(comm, without, 1, &rest, NULL, NCCL_SHRINK_DEFAULT), "shrink");
    check(ncclAllReduce(in, out, 100, ncclFloat, ncclSum, rest, NULL), "allreduce of the rest");
    for (size_t i = 0; i < 100; ++i) expect(out[i] == sum(i) - value(0, i), "the rest", i);
    check(ncclCommDestroy(rest), "destroy the rest");
  }
  check(ncclCommDestroy(comm), "destroy");
  printf("all right\n");
}
#endif

/* Rank 0 frees what a call of its own uses, to which the others have not come. */
static void free_early(float* const* memory) {
  init();
  buffers();
  fill(70000);
  pthread_t thread;
  ncclResult_t result = ncclSuccess;
  if (rank != 0) usleep(200000);
  pthread_create(&thread, NULL, reduce_long, &result);
  if (rank == 0) {
    usleep(100000);
    let_go(*memory);
  }
  pthread_join(thread, NULL);
  check(result, "allreduce");
  if (rank != 0 || memory != &out) expect_sums(out, 70000, "allreduce");
  end();
}
void freed_input(void) {
  free_early(&in);
}
void freed_output(void) {
  free_early(&out);
}

/* The last rank dies while the others wait for it. */
void lost(void) {
  init();
  buffers();
  fill(100);
  check(ncclAllReduce(in, out, 100, ncclFloat, ncclSum, comm, NULL), "allreduce");
  if (rank == size - 1) {
    usleep(100000);
    _exit(0);
  }
  const ncclResult_t result = ncclAllReduce(in, out, 100, ncclFloat, ncclSum, comm, NULL);
  expect(result == ncclRemoteError, "the result", result);
  expect(strstr(ncclGetLastError(comm), "rank") != NULL, "last error", 0);
  check(ncclCommAbort(comm), "abort");
  printf("all right\n");
}

/* A rank that is done leaves; who waits for nothing hears of no error. */
void early(void) {
  init();
  buffers();
  fill(100);
  check(ncclAllReduce(in, out, 100, ncclFloat, ncclSum, comm, NULL), "allreduce");
  expect_sums(out, 100, "allreduce");
  if (rank != 0) {
    printf("all right\n");
    exit(0);
  }
  for (int i = 0; i < 10; ++i) {
    ncclResult_t state = ncclInternalError;
    usleep(50000);
    check(ncclCommGetAsyncError(comm, &state), "ask");
    expect(state == ncclSuccess, "an error that is none", state);
  }
  end();
}

/* A rank ends its communicator and its process, and the others go on among themselves. */
void done_first(void) {
  init();
  buffers();
  fill(100);
  check(ncclAllReduce(in, out, 100, ncclFloat, ncclSum, comm, NULL), "allreduce");
  expect_sums(out, 100, "allreduce");
  if (rank == size - 1) {
    check(ncclCommDestroy(comm), "destroy");
    printf("all right\n");
    exit(0);
  }
  sleep(2); /* longer than what waits is believed to end well after a rank has died */
  ncclResult_t state = ncclInternalError;
  if (rank == 0) check(ncclSend(in, 100, ncclFloat, 1, comm, NULL), "send");
  if (rank == 1) {
    check(ncclRecv(out, 100, ncclFloat, 0, comm, NULL), "receive");
    expect_from(out, 0, 0, 100, "the message");
  }
  check(ncclCommGetAsyncError(comm, &state), "ask");
  expect(state == ncclSuccess, "an error that is none", state);
  check(ncclCommDestroy(comm), "destroy");
  printf("all right\n");
}

static void* gather_at_first(void* result) {
  ncclResult_t* const first = result;
  *first = ncclGroupStart();
  for (int from = 1; from < size && *first == ncclSuccess; ++from) {
    if (rank == 0) *first = ncclRecv(out + 100 * from, 100, ncclFloat, from, comm, NULL);
    if (rank == from) *first = ncclSend(in, 100, ncclFloat, 0, comm, NULL);
  }
  const ncclResult_t ended = ncclGroupEnd();
  if (*first == ncclSuccess) *first = ended;
  return NULL;
}

/* Rank 0 ends its communicator while it waits for what rank 1 has yet to send; the last rank has sent all, and has
 * ended. */
void ended_in_wait(void) {
  init();
  buffers();
  fill(100 * (size_t)size);
  check(ncclAllReduce(in, out, 100, ncclFloat, ncclSum, comm, NULL), "allreduce");
  pthread_t thread;
  ncclResult_t result = ncclSuccess;
  if (rank == 1) usleep(700000);
  pthread_create(&thread, NULL, gather_at_first, &result);
  if (rank == 0) {
    usleep(300000);
    check(ncclCommDestroy(comm), "destroy");
  }
  pthread_join(thread, NULL);
  check(result, "messages");
  if (rank != 0) check(ncclCommDestroy(comm), "destroy");
  for (int from = 1; rank == 0 && from < size; ++from) expect_from(out + 100 * from, from, 0, 100, "a message");
  printf("all right\n");
}

/* The same, of what cannot end any more: the last rank dies, or has ended the communicator before. */
static void end_in_vain(bool in_order) {
  init();
  buffers();
  fill(100);
  check(ncclAllReduce(in, out, 100, ncclFloat, ncclSum, comm, NULL), "allreduce");
  if (rank == size - 1) {
    if (in_order) check(ncclCommDestroy(comm), "destroy");
    usleep(100000);
    _exit(0);
  }
  ncclResult_t result = ncclSuccess, state = ncclSuccess;
  reduce_alone(&result);
  expect(result == ncclRemoteError, "the allreduce", result);
  fprintf(stderr, "last error: %s\n", ncclGetLastError(NULL));
  /* The other one may hear of the end that the first one makes of it, and nothing is left to be waited for. */
  const bool is_first = strstr(ncclGetLastError(NULL), "peer_lost") != NULL;
  check(ncclCommGetAsyncError(comm, &state), "ask");
  expect(state == ncclRemoteError || !is_first, "the error", state);
  const ncclResult_t finalized = ncclCommFinalize(comm), destroyed = ncclCommDestroy(comm);
  expect(finalized == ncclRemoteError || !is_first, "finalize", finalized);
  expect(destroyed == ncclRemoteError || !is_first, "destroy", destroyed);
  printf("all right\n");
}
void ended_in_vain(void) {
  end_in_vain(false);
}
void ended_too_soon(void) {
  end_in_vain(true);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* The last rank stands still while the communicator is made, which does not block; the others abort it. */
void aborted_in_the_making(void) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  char path[512], part[512];
  snprintf(path, sizeof path, "%s/process", folder);
  snprintf(part, sizeof part, "%s/process.part", folder);
  const bool stands = rank == size - 1;
  const ncclUniqueId id = meet("id");
  if (stands) usleep(100000); /* so that it is the one that makes it whole */
  const ncclResult_t begun = ncclCommInitRankConfig(&comm, size, id, rank, &config);
  expect(begun == ncclInProgress || begun == ncclSuccess, "begin", begun);
  if (stands) {
    FILE* file = fopen(part, "w");
    if (file == NULL || fprintf(file, "%d", (int)getpid()) < 0 || fclose(file) != 0 || rename(part, path) != 0)
      fail("write", 0);
    raise(SIGSTOP);
  }
  usleep(stands ? 0 : 600000);
  const double start = now();
  check(ncclCommAbort(comm), "abort");
  const double took = now() - start;
  expect(took < 2, "an abort waits", (size_t)took);
  if (rank == 0) {
    FILE* file = NULL;
    int process = 0;
    while ((file = fopen(path, "r")) == NULL) usleep(1000);
    if (fscanf(file, "%d", &process) != 1) fail("read", 0);
    fclose(file);
    usleep(200000);
    kill(process, SIGCONT);
  }
  check(ncclCommInitRank(&comm, size, meet("again"), rank), "again");
  buffers();
  fill(100);
  check(ncclAllReduce(in, out, 100, ncclFloat, ncclSum, comm, NULL), "allreduce");
  expect_sums(out, 100, "again");
  end();
}

static void* destroy_alone(void* result) {
  *(ncclResult_t*)result = ncclCommDestroy(comm);
  return NULL;
}

static void* finalize_alone(void* result) {
  *(ncclResult_t*)result = ncclCommFinalize(comm);
  return NULL;
}

/* Rank 0 does not come to a call; on the other a thread ends the communicator in order, which waits for that call,
 * and a watchdog's thread ends what it waits for. Of two ranks: a third one's watchdog would end the second one's
 * wait, and with that the communicator, before its own watchdog comes. */
static void end_in_the_end(void* (*end_it)(void*), ncclResult_t (*end_the_call)(ncclComm_t)) {
  init();
  buffers();
  fill(100);
  check(ncclAllReduce(in, out, 100, ncclFloat, ncclSum, comm, NULL), "allreduce");
  if (rank != 0) {
    pthread_t threads[2];
    ncclResult_t reduced = ncclSuccess, ended = ncclSuccess;
    pthread_create(&threads[0], NULL, reduce_alone, &reduced);
    usleep(200000);
    pthread_create(&threads[1], NULL, end_it, &ended);
    usleep(200000);
    check(end_the_call(comm), "end the call");
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
    expect(reduced != ncclSuccess, "what waited ended well", 0);
    expect(ended != ncclSuccess, "the end of a call that was ended", 0);
  } else {
    usleep(2000000); /* the others have to be first: their waits would end by this */
    check(ncclCommAbort(comm), "abort");
  }
  check(ncclCommInitRank(&comm, size, meet("again"), rank), "again");
  check(ncclAllReduce(in, out, 100, ncclFloat, ncclSum, comm, NULL), "allreduce");
  expect_sums(out, 100, "again");
  end();
}
void aborted_in_destroy(void) {
  end_in_the_end(destroy_alone, ncclCommAbort);
}
void aborted_in_finalize(void) {
  end_in_the_end(finalize_alone, ncclCommAbort);
}
#if NCCL_VERSION_CODE >= 22800 && !defined(OLD)
static ncclResult_t revoke_it(ncclComm_t of) {
  return ncclCommRevoke(of, NCCL_REVOKE_DEFAULT);
}
void revoked_in_destroy(void) {
  end_in_the_end(destroy_alone, revoke_it);
}
void revoked_in_finalize(void) {
  end_in_the_end(finalize_alone, revoke_it);
}
#endif
#if NCCL_VERSION_CODE >= 22700 && !defined(OLD)
static ncclResult_t shrink_it(ncclComm_t of) {
  int without[] = {0};
  ncclComm_t rest = NULL;
  const ncclResult_t shrunk = ncclCommShrink(of, without, 1, &rest, NULL, NCCL_SHRINK_ABORT);
  return shrunk != ncclSuccess ? shrunk : ncclCommDestroy(rest);
}
void shrunk_in_destroy(void) {
  end_in_the_end(destroy_alone, shrink_it);
}
#endif

/* One that does not block is done with once its calls are: rank 0 comes late to the last one. */
void finalized_later(void) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  const ncclResult_t begun = ncclCommInitRankConfig(&comm, size, meet("id"), rank, &config);
  expect(begun == ncclInProgress || begun == ncclSuccess, "begin", begun);
  ncclResult_t state = ncclInProgress, result = ncclSuccess;
  while (state == ncclInProgress) check(ncclCommGetAsyncError(comm, &state), "ask");
  buffers();
  fill(100);
  pthread_t thread;
  if (rank == 0) usleep(500000);
  pthread_create(&thread, NULL, reduce_alone, &result);
  usleep(rank == 0 ? 0 : 200000);
  const ncclResult_t finalized = ncclCommFinalize(comm);
  check(ncclCommGetAsyncError(comm, &state), "ask");
  if (rank != 0) expect(finalized == ncclInProgress && state == ncclInProgress, "finalize", finalized);
  while (state == ncclInProgress) check(ncclCommGetAsyncError(comm, &state), "ask at the end");
  expect(state == ncclSuccess, "the end", state);
  pthread_join(thread, NULL);
  check(result, "allreduce");
  expect_sums(out, 100, "allreduce");
  check(ncclCommDestroy(comm), "destroy");
  printf("all right\n");
}
