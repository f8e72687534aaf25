/* Programs of NCCL about communicators: how they are made, divided and shrunk, and how they end. */
#define _GNU_SOURCE
#include "c_nccl.h"

#include <pthread.h>
#include <string.h>

void divided(void) {
  init();
  buffers();
  ncclComm_t part = NULL, rest = NULL;
  check(ncclCommSplit(comm, rank % 2, -rank, &part, NULL), "split");
  int count = 0, number = 0;
  check(ncclCommCount(part, &count), "count");
  check(ncclCommUserRank(part, &number), "rank");
  fill(100);
  check(ncclAllReduce(in, out, 100, ncclFloat, ncclSum, part, NULL), "allreduce of a part");
  for (size_t i = 0; i < 100; ++i) {
    float expected = 0;
    for (int of = rank % 2; of < size; of += 2) expected += value(of, i);
    expect(out[i] == expected, "a part", i);
  }
  check(ncclCommSplit(comm, rank == 0 ? NCCL_SPLIT_NOCOLOR : 7, rank, &rest, NULL), "split off");
  expect((rest == NULL) == (rank == 0), "no color", 0);
  if (rest != NULL) {
    check(ncclAllReduce(in, out, 100, ncclFloat, ncclSum, rest, NULL), "allreduce of the rest");
    for (size_t i = 0; i < 100; ++i) expect(out[i] == sum(i) - value(0, i), "the rest", i);
    check(ncclCommDestroy(rest), "destroy the rest");
  }
  check(ncclCommDestroy(part), "destroy the part");
  end();
}

#if NCCL_VERSION_CODE >= 22700 && !defined(OLD)
void shrunk(void) {
  init();
  buffers();
  int without[] = {size - 1};
  if (rank == size - 1) {
    check(ncclCommAbort(comm), "abort");
    printf("all right\n");
    return;
  }
  ncclComm_t rest = NULL;
  check(ncclCommShrink(comm, without, 1, &rest, NULL, NCCL_SHRINK_ABORT), "shrink");
  fill(100);
  check(ncclAllReduce(in, out, 100, ncclFloat, ncclSum, rest, NULL), "allreduce of the rest");
  for (size_t i = 0; i < 100; ++i) expect(out[i] == sum(i) - value(size - 1, i), "the rest", i);
  check(ncclCommDestroy(rest), "destroy");
  check(ncclCommAbort(comm), "abort");
  printf("all right\n");
}

/* Of all ranks but some, which do not know of it, nor do their calls wait: all go on with what they had. */
void shrunk_aside(void) {
  init();
  buffers();
  for (int round = 0; round < 4; ++round) {
    int without[] = {(size - 1 + round) % size};
    ncclComm_t rest = NULL, all = NULL;
    if (rank != without[0]) {
      check(ncclCommShrink(comm, without, 1, &rest, NULL, NCCL_SHRINK_DEFAULT), "shrink");
      fill(100);
      check(ncclAllReduce(in, out, 100, ncclFloat, ncclSum, rest, NULL), "allreduce of the rest");
      for (size_t i = 0; i < 100; ++i) expect(out[i] == sum(i) - value(without[0], i), "the rest", i);
      check(ncclCommDestroy(rest), "destroy the rest");
    }
    check(ncclCommSplit(comm, 0, rank, &all, NULL), "split");
    fill(100);
    check(ncclAllReduce(in, out, 100, ncclFloat, ncclSum, all, NULL), "allreduce of a part");
    expect_sums(out, 100, "a part");
    check(ncclCommDestroy(all), "destroy the part");
  }
  end();
}
#endif

#if NCCL_VERSION_CODE >= 22700 && !defined(OLD)
/* At the same offset on every rank; then the output alone lies in a window, and all-gathers use no other. */
static void use(size_t offset, const char* what) {
  enum { kNumbers = 5000 };
  fill(offset + kNumbers);
  check(ncclAllReduce(in + offset, out + offset, kNumbers, ncclFloat, ncclSum, comm, NULL), what);
  for (size_t i = offset; i < offset + kNumbers; ++i) expect(out[i] == sum(i), what, i);
  fill(kNumbers);
  check(ncclAllReduce(in, in, kNumbers, ncclFloat, ncclAvg, comm, NULL), what);
  for (size_t i = 0; i < kNumbers; ++i) {
    const float off = in[i] - sum(i) / (float)size;
    expect(off < 1e-4F && off > -1e-4F, what, i);
  }
  fill(kNumbers);
  check(ncclAllGather(in, out, kNumbers, ncclFloat, comm, NULL), what);
  for (int of = 0; of < size; ++of) expect_from(out + of * kNumbers, of, 0, kNumbers, what);
}

/* Registered one by one and in a group, by ranks that give them up at different times, and free the memory at once.
 */
void windows(void) {
  init();
  for (int round = 0; round < 4; ++round) {
    buffers();
    const bool grouped = round % 2 == 1;
    const int flags = round == 3 ? NCCL_WIN_DEFAULT : NCCL_WIN_COLL_SYMMETRIC;
    ncclWindow_t of_in = NULL, of_out = NULL;
    if (grouped) check(ncclGroupStart(), "start");
    check(ncclCommWindowRegister(comm, in, sizeof(float) * kMost, &of_in, flags), "register");
    check(ncclCommWindowRegister(comm, out, sizeof(float) * kMost, &of_out, flags), "register");
    if (grouped) check(ncclGroupEnd(), "end");
    expect(of_in != NULL && of_out != NULL, "no window", 0);
    use(0, "between windows");
    use(1000 + (size_t)round, "further in");
    check(ncclCommWindowDeregister(comm, rank % 2 == 0 ? of_in : of_out), "deregister");
    check(ncclCommWindowDeregister(comm, rank % 2 == 0 ? of_out : of_in), "deregister the other");
    if (round % 2 == 0) use(0, "without windows");
    let_go(in);
    let_go(out);
  }
  /* One that is there at the end. */
  buffers();
  ncclWindow_t last = NULL;
  check(ncclCommWindowRegister(comm, out, sizeof(float) * kMost, &last, NCCL_WIN_COLL_SYMMETRIC), "register");
  use(0, "at last");
  end();
}
#endif

#ifndef OLD
/* Of the ranks but the last, which begins alone, and comes in; then a part of all. */
static void grow(ncclConfig_t* config) {
  const int before = size - 1;
  const bool old = rank < before, elder = rank == before - 1;
  ncclConfig_t of_old = NCCL_CONFIG_INITIALIZER;
  of_old.blocking = config == NULL;
  ncclComm_t all = NULL, part = NULL;
  ncclResult_t state = ncclSuccess;
  if (old) {
    state = ncclCommInitRankConfig(&comm, before, meet("id"), rank, &of_old);
    while (state == ncclInProgress) check(ncclCommGetAsyncError(comm, &state), "ask");
    check(state, "made");
  }
  buffers();
  ncclUniqueId id;
  if (elder || !old) id = meet_by("more", elder, comm);
  state = ncclCommGrow(comm, size, elder || !old ? &id : NULL, old ? -1 : rank, &all, config);
  expect(state == ncclSuccess || (config != NULL && state == ncclInProgress), "grow", state);
  while (old && (state == ncclInProgress || all == NULL)) check(ncclCommGetAsyncError(comm, &state), "ask");
  do check(ncclCommGetAsyncError(all, &state), "ask of all");
  while (state == ncclInProgress);
  check(state, "grown");
  fill(100);
  check(ncclAllReduce(in, out, 100, ncclFloat, ncclSum, all, NULL), "allreduce of all");
  expect_sums(out, 100, "all");
  if (old) {
    check(ncclAllReduce(in, out, 100, ncclFloat, ncclSum, comm, NULL), "allreduce of those before");
    for (size_t i = 0; i < 100; ++i) expect(out[i] == sum(i) - value(before, i), "those before", i);
    check(ncclCommDestroy(comm), "destroy those before");
  }
  if (config == NULL) {
    check(ncclCommSplit(all, 0, -rank, &part, NULL), "split");
    check(ncclAllReduce(in, out, 100, ncclFloat, ncclSum, part, NULL), "allreduce of a part");
    expect_sums(out, 100, "a part");
    check(ncclCommDestroy(part), "destroy the part");
  }
  comm = all;
  end();
}
void grown(void) {
  grow(NULL);
}
void grown_patiently(void) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  grow(&config);
}
#endif

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

/* A part that does not block, of one that does; and of a part, where rank 0 has none. */
void patient_parts(void) {
  init();
  buffers();
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t part = NULL, rest = NULL;
  ncclResult_t state = ncclCommSplit(comm, 0, -rank, &part, &config);
  expect(state == ncclInProgress || state == ncclSuccess, "split", state);
  do check(ncclCommGetAsyncError(part, &state), "ask of the part");
  while (state == ncclInProgress);
  fill(100);
  check(ncclAllReduce(in, out, 100, ncclFloat, ncclSum, part, NULL), "allreduce of a part");
  expect_sums(out, 100, "a part");
  state = ncclCommSplit(part, rank == 0 ? NCCL_SPLIT_NOCOLOR : 7, rank, &rest, NULL);
  while (state == ncclInProgress || (rank != 0 && rest == NULL))
    check(ncclCommGetAsyncError(part, &state), "ask of the part again");
  check(state, "split off");
  expect((rest == NULL) == (rank == 0), "no color", 0);
  if (rest != NULL) {
    do check(ncclCommGetAsyncError(rest, &state), "ask of the rest");
    while (state == ncclInProgress);
    check(ncclAllReduce(in, out, 100, ncclFloat, ncclSum, rest, NULL), "allreduce of the rest");
    for (size_t i = 0; i < 100; ++i) expect(out[i] == sum(i) - value(0, i), "the rest", i);
    check(ncclCommDestroy(rest), "destroy the rest");
  }
  check(ncclCommDestroy(part), "destroy the part");
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

static void* reduce_more(void* result) {
  *(ncclResult_t*)result = ncclAllReduce(in, out, rank == 0 ? 1000 : 1500, ncclFloat, ncclSum, comm, NULL);
  return NULL;
}

/* The ranks' calls do not belong together; a watchdog's thread looks, and ends them. */
void mistaken(void) {
  init();
  buffers();
  fill(2000);
  check(ncclAllReduce(in, out, 100, ncclFloat, ncclSum, comm, NULL), "allreduce");
  pthread_t thread;
  ncclResult_t result = ncclSuccess;
  pthread_create(&thread, NULL, reduce_more, &result);
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
