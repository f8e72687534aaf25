/* Programs of NCCL about how communicators are made: patiently, in one group, by threads and by several ids. */
#define _GNU_SOURCE
#include "c_nccl.h"

#include <pthread.h>

void patient(void) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  const ncclUniqueId id = meet("id");
  ncclResult_t state = ncclCommInitRankConfig(&comm, size, id, rank, &config);
  expect(state == ncclInProgress || state == ncclSuccess, "begin", state);
  while (state == ncclInProgress) check(ncclCommGetAsyncError(comm, &state), "ask");
  check(state, "made");
  buffers();
  fill(100);
  check(ncclAllReduce(in, out, 100, ncclFloat, ncclSum, comm, NULL), "allreduce");
  expect_sums(out, 100, "allreduce");
  /* A group of both libraries' calls, where NCCL's end later. */
  fill(300);
  check(ncclGroupStart(), "start");
  check(ncclReduce(in, out, 100, ncclFloat, ncclSum, 0, comm, NULL), "reduce");
  check(ncclAllReduce(in + 100, out + 100, 100, ncclFloat, ncclSum, comm, NULL), "allreduce");
  check(ncclReduce(in + 200, out + 200, 100, ncclFloat, ncclSum, 0, comm, NULL), "reduce again");
  state = ncclGroupEnd();
  while (state == ncclInProgress) check(ncclCommGetAsyncError(comm, &state), "ask");
  check(state, "the group");
  for (size_t i = 0; i < 300; ++i) expect(out[i] == sum(i) || (rank != 0 && i / 100 != 1), "a group", i);
  /* A part of it. */
  ncclComm_t part = NULL;
  state = ncclCommSplit(comm, 0, rank, &part, NULL);
  while (state == ncclInProgress || part == NULL) check(ncclCommGetAsyncError(comm, &state), "ask");
  do check(ncclCommGetAsyncError(part, &state), "ask of the part");
  while (state == ncclInProgress);
  check(ncclAllReduce(in, out, 100, ncclFloat, ncclSum, part, NULL), "allreduce of a part");
  expect_sums(out, 100, "a part");
  check(ncclCommDestroy(part), "destroy");
  end();
}

/* A group with another communicator, which does not block and is NCCL's alone. */
void patient_beside(void) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t alone = NULL;
  ncclUniqueId id;
  check(ncclGetUniqueId(&id), "ncclGetUniqueId");
  ncclResult_t state = ncclCommInitRankConfig(&alone, 1, id, 0, &config);
  expect(state == ncclInProgress || state == ncclSuccess, "begin", state);
  while (state == ncclInProgress) check(ncclCommGetAsyncError(alone, &state), "ask");
  check(state, "made");
  init();
  buffers();
  fill(200);
  check(ncclGroupStart(), "start");
  check(ncclAllReduce(in, out, 100, ncclFloat, ncclSum, alone, NULL), "allreduce alone");
  check(ncclAllReduce(in + 100, out + 100, 100, ncclFloat, ncclSum, comm, NULL), "allreduce");
  const ncclResult_t done = ncclGroupEnd();
  check(ncclCommGetAsyncError(alone, &state), "ask");
  expect(done == ncclInProgress || (done == ncclSuccess && state == ncclSuccess), "done while NCCL is at work", done);
  while (state == ncclInProgress) check(ncclCommGetAsyncError(alone, &state), "ask");
  check(state, "the group");
  for (size_t i = 0; i < 200; ++i) expect(out[i] == (i < 100 ? value(rank, i) : sum(i)), "a group", i);
  check(ncclCommDestroy(alone), "destroy");
  end();
}

/* Two communicators, made in one group; rank 0 in another order. */
void pairs(void) {
  ncclComm_t made[2];
  const ncclUniqueId first = meet("first"), second = meet("second");
  check(ncclGroupStart(), "start");
  check(ncclCommInitRank(&made[rank == 0], size, rank == 0 ? second : first, rank), "one");
  check(ncclCommInitRank(&made[rank != 0], size, rank == 0 ? first : second, rank), "the other");
  check(ncclGroupEnd(), "end");
  comm = made[0];
  buffers();
  fill(200);
  check(ncclGroupStart(), "start");
  for (int which = 0; which < 2; ++which)
    check(ncclAllReduce(in + 100 * which, out + 100 * which, 100, ncclFloat, ncclSum, made[which], NULL),
          "allreduce");
  check(ncclGroupEnd(), "end");
  expect_sums(out, 200, "two communicators");
  check(ncclCommDestroy(made[1]), "destroy");
  end();
}

#if NCCL_VERSION_CODE >= 22700 && !defined(OLD)
/* What begins in a group that is only simulated: NCCL makes it all the same. The place that it was made at is gone
 * when the next group ends. */
static ncclComm_t made_in_simulation(ncclWindow_t* window) {
  ncclComm_t made = NULL;
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  const ncclUniqueId id = meet("simulated");
  check(ncclGroupStart(), "start");
  check(ncclGroupStart(), "start within");
  check(ncclCommInitRank(&made, size, id, rank), "make");
  check(ncclGroupSimulateEnd(&info), "simulate within");
  check(ncclAllReduce(in, out, 1000, ncclFloat, ncclSum, comm, NULL), "allreduce that is simulated");
  check(ncclCommWindowRegister(comm, in, sizeof(float) * kMost, window, NCCL_WIN_COLL_SYMMETRIC), "register");
  check(ncclGroupSimulateEnd(&info), "simulate");
  return made;
}
void begun_in_simulation(void) {
  init();
  buffers();
  ncclWindow_t window = NULL;
  const ncclComm_t other = made_in_simulation(&window);
  fill(1000);
  check(ncclAllReduce(in, out, 1000, ncclFloat, ncclSum, other, NULL), "allreduce");
  expect_sums(out, 1000, "allreduce");
  fill(5000);
  check(ncclAllReduce(in, in, 5000, ncclFloat, ncclSum, comm, NULL), "allreduce in a window");
  expect_sums(in, 5000, "allreduce in a window");
  check(ncclGroupStart(), "start");
  check(ncclGroupEnd(), "end");
  check(ncclCommWindowDeregister(comm, window), "deregister");
  check(ncclCommDestroy(other), "destroy");
  end();
}
#endif

void all_in_one(void) {
  enum { kOnes = 3, kNumbers = 1000 };
  ncclComm_t made[kOnes];
  check(ncclCommInitAll(made, kOnes, NULL), "init all");
  int count = 0;
  check(ncclCommCount(made[1], &count), "count");
  expect(count == kOnes, "count", (size_t)count);
  /* The tests' NCCL cannot do that for one thread. */
  float* each[kOnes] = {NULL};
  for (int i = 0; i < kOnes && sennit_emulated_allocate != NULL; ++i)
    each[i] = sennit_emulated_allocate(i, kNumbers * sizeof(float));
  for (int round = 0; round < 3 && each[0] != NULL; ++round) {
    for (int i = 0; i < kOnes; ++i)
      for (int k = 0; k < kNumbers; ++k) each[i][k] = value(i, (size_t)k);
    check(ncclGroupStart(), "start");
    for (int i = 0; i < kOnes; ++i)
      check(ncclAllReduce(each[i], each[i], kNumbers, ncclFloat, ncclSum, made[i], NULL), "allreduce");
    check(ncclGroupEnd(), "end");
    size = kOnes;
    for (int i = 0; i < kOnes; ++i) expect_sums(each[i], kNumbers, "allreduce of one process");
    for (int i = 0; i < kOnes; ++i)
      for (int k = 0; k < kNumbers / 2; ++k) each[i][k] = value(i, (size_t)k);
    check(ncclGroupStart(), "start");
    for (int i = 0; i < kOnes; ++i) {
      check(ncclRecv(each[i] + kNumbers / 2, kNumbers / 2, ncclFloat, (i + 1) % kOnes, made[i], NULL), "receive");
      check(ncclSend(each[i], kNumbers / 2, ncclFloat, (i + kOnes - 1) % kOnes, made[i], NULL), "send");
    }
    check(ncclGroupEnd(), "end");
    for (int i = 0; i < kOnes; ++i)
      expect_from(each[i] + kNumbers / 2, (i + 1) % kOnes, 0, kNumbers / 2, "messages of one process");
  }
  for (int i = 0; i < kOnes; ++i) check(ncclCommDestroy(made[i]), "destroy");
  printf("all right\n");
}

/* A communicator of threads, and parts of it. */
enum { kThreads = 3 };
static ncclUniqueId of_all;
static void* be_rank(void* number) {
  enum { kNumbers = 1000 };
  const int own = *(int*)number;
  ncclComm_t mine = NULL, part = NULL;
  check(ncclCommInitRank(&mine, kThreads, of_all, own), "init of a thread");
  float* const data =
      sennit_emulated_allocate != NULL ? sennit_emulated_allocate(own, sizeof(float) * kNumbers) : NULL;
  float* const both = data != NULL ? data : calloc(kNumbers, sizeof(float));
  for (int round = 0; round < 20; ++round) {
    for (size_t i = 0; i < kNumbers; ++i) both[i] = value(own, i);
    check(ncclAllReduce(both, both, kNumbers, ncclFloat, ncclSum, mine, NULL), "allreduce of threads");
    expect_sums(both, kNumbers, "allreduce of threads");
    if (round % 10 != 0) continue;
    check(ncclCommSplit(mine, 0, -own, &part, NULL), "split of threads");
    check(ncclBroadcast(both, both, 10, ncclFloat, 0, part, NULL), "broadcast of a part");
    expect_sums(both, 10, "broadcast of a part");
    check(ncclCommDestroy(part), "destroy the part");
  }
  check(ncclCommDestroy(mine), "destroy of a thread");
  return NULL;
}
void of_threads(void) {
  pthread_t threads[kThreads];
  int numbers[kThreads];
  size = kThreads;
  check(ncclGetUniqueId(&of_all), "ncclGetUniqueId");
  for (int i = 0; i < kThreads; ++i) {
    numbers[i] = i;
    pthread_create(&threads[i], NULL, be_rank, &numbers[i]);
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  printf("all right\n");
}

#if NCCL_VERSION_CODE >= 22800 && !defined(OLD)
/* By several ids. */
void scalable(void) {
  ncclUniqueId ids[] = {meet("id"), meet("another")};
  check(ncclCommInitRankScalable(&comm, size, rank, 2, ids, NULL), "init by two ids");
  buffers();
  fill(100);
  check(ncclAllReduce(in, out, 100, ncclFloat, ncclSum, comm, NULL), "allreduce");
  expect_sums(out, 100, "allreduce");
  end();
}
#endif
