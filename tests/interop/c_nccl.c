/* A program of several ranks that calls NCCL: c_nccl RANK SIZE FOLDER TEST. Prints "all right" where everything that
 * it got is what NCCL promises. Buffers count as GPU memory where they are emulated. */
#define _GNU_SOURCE
#include <nccl.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((weak)) void* sennit_emulated_allocate(int device, size_t bytes);

static int rank, size;
static const char* folder;
static ncclComm_t comm;
static const size_t counts[] = {1, 3, 1000, 70000};
enum { kCounts = 4, kMost = 8 * 70000 };

static void fail(const char* what, long detail) {
  printf("rank %d: %s (%ld)\n", rank, what, detail);
  fflush(stdout);
  _exit(1);
}
static void check(ncclResult_t result, const char* what) {
  if (result != ncclSuccess) {
    printf("rank %d: %s\n", rank, ncclGetLastError(comm));
    fail(what, result);
  }
}

static void* allocate(size_t bytes) {
  void* memory = NULL;
  if (sennit_emulated_allocate != NULL) memory = sennit_emulated_allocate(rank, bytes);
  return memory != NULL ? memory : calloc(1, bytes);
}

static ncclUniqueId meet(const char* name) {
  ncclUniqueId id;
  char path[512], whole[512];
  snprintf(path, sizeof path, "%s/%s.part", folder, name);
  snprintf(whole, sizeof whole, "%s/%s", folder, name);
  if (rank == 0) {
    check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    FILE* file = fopen(path, "w");
    if (file == NULL || fwrite(&id, sizeof id, 1, file) != 1 || fclose(file) != 0 || rename(path, whole) != 0)
      fail("write the id", 0);
    return id;
  }
  FILE* file = NULL;
  while ((file = fopen(whole, "r")) == NULL) usleep(1000);
  if (fread(&id, sizeof id, 1, file) != 1) fail("read the id", 0);
  fclose(file);
  return id;
}

static void init(void) {
  check(ncclCommInitRank(&comm, size, meet("id"), rank), "ncclCommInitRank");
}
static void end(void) {
  check(ncclCommFinalize(comm), "ncclCommFinalize");
  check(ncclCommDestroy(comm), "ncclCommDestroy");
  printf("all right\n");
}

/* What rank `of` gives as its number `i`. */
static float value(int of, size_t i) {
  return (float)((of + 1) * 3 + (int)(i % 97));
}
static float sum(size_t i) {
  float all = 0;
  for (int of = 0; of < size; ++of) all += value(of, i);
  return all;
}
static float* in;
static float* out;
static void fill(size_t count) {
  for (size_t i = 0; i < count; ++i) {
    in[i] = value(rank, i);
    out[i] = -1;
  }
}
static void expect(bool right, const char* what, size_t at) {
  if (!right) fail(what, (long)at);
}
static void expect_sums(const float* got, size_t count, const char* what) {
  for (size_t i = 0; i < count; ++i) expect(got[i] == sum(i), what, i);
}
static void buffers(void) {
  in = allocate(sizeof(float) * kMost);
  out = allocate(sizeof(float) * kMost);
}

static void collectives(void) {
  init();
  buffers();
  for (int which = 0; which < kCounts; ++which) {
    const size_t n = counts[which], all = n * (size_t)size, own = n * (size_t)rank;
    const int root = size - 1;
    fill(n);
    check(ncclAllReduce(in, out, n, ncclFloat, ncclSum, comm, NULL), "allreduce");
    expect_sums(out, n, "allreduce");
    check(ncclAllReduce(in, in, n, ncclFloat, ncclSum, comm, NULL), "allreduce in place");
    expect_sums(in, n, "allreduce in place");
    fill(n);
    check(ncclAllReduce(in, out, n, ncclFloat, ncclMax, comm, NULL), "maximum");
    for (size_t i = 0; i < n; ++i) expect(out[i] == value(size - 1, i), "maximum", i);
    check(ncclAllReduce(in, out, n, ncclFloat, ncclAvg, comm, NULL), "average");
    for (size_t i = 0; i < n; ++i)
      expect(out[i] > sum(i) / (float)size * 0.999f && out[i] < sum(i) / (float)size * 1.001f, "average", i);

    fill(n);
    check(ncclReduce(in, rank == root ? out : NULL, n, ncclFloat, ncclSum, root, comm, NULL), "reduce");
    if (rank == root) expect_sums(out, n, "reduce");
    if (n > 10000) continue; /* tests' NCCL is small */

    fill(all);
    check(ncclReduceScatter(in, out, n, ncclFloat, ncclSum, comm, NULL), "reduce-scatter");
    for (size_t i = 0; i < n; ++i) expect(out[i] == sum(own + i), "reduce-scatter", i);
    check(ncclReduceScatter(in, in + own, n, ncclFloat, ncclSum, comm, NULL), "reduce-scatter in place");
    for (size_t i = 0; i < n; ++i) expect(in[own + i] == sum(own + i), "reduce-scatter in place", i);

    fill(all);
    check(ncclAllGather(in, out, n, ncclFloat, comm, NULL), "allgather");
    for (size_t i = 0; i < all; ++i) expect(out[i] == value((int)(i / n), i % n), "allgather", i);
    fill(n);
    memcpy(out + own, in, n * sizeof *in);
    check(ncclAllGather(out + own, out, n, ncclFloat, comm, NULL), "allgather in place");
    for (size_t i = 0; i < all; ++i) expect(out[i] == value((int)(i / n), i % n), "allgather in place", i);

    fill(n);
    check(ncclBroadcast(rank == root ? in : NULL, out, n, ncclFloat, root, comm, NULL), "broadcast");
    for (size_t i = 0; i < n; ++i) expect(out[i] == value(root, i), "broadcast", i);
    fill(n);
    check(ncclBcast(in, n, ncclFloat, 0, comm, NULL), "bcast");
    for (size_t i = 0; i < n; ++i) expect(in[i] == value(0, i), "bcast", i);

#if NCCL_VERSION_CODE >= 22800 && !defined(OLD)
    fill(all);
    check(ncclAlltoAll(in, out, n, ncclFloat, comm, NULL), "alltoall");
    for (size_t i = 0; i < all; ++i) expect(out[i] == value((int)(i / n), own + i % n), "alltoall", i);
    fill(n);
    for (size_t i = 0; i < all; ++i) out[i] = -1;
    check(ncclGather(in, rank == root ? out : NULL, n, ncclFloat, root, comm, NULL), "gather");
    for (size_t i = 0; rank == root && i < all; ++i) expect(out[i] == value((int)(i / n), i % n), "gather", i);
    fill(all);
    check(ncclScatter(rank == root ? in : NULL, out, n, ncclFloat, root, comm, NULL), "scatter");
    for (size_t i = 0; i < n; ++i) expect(out[i] == value(root, own + i), "scatter", i);
#endif
  }
  end();
}

static void types(void) {
  init();
  const int n = 100;
  char* bytes = allocate(n);
  long long* words = allocate(sizeof *words * n);
  for (int i = 0; i < n; ++i) {
    bytes[i] = (char)(i + rank);
    words[i] = (long long)i << (32 + rank);
  }
  check(ncclAllReduce(bytes, bytes, n, ncclInt8, ncclMin, comm, NULL), "int8");
  check(ncclAllReduce(words, words, n, ncclInt64, ncclSum, comm, NULL), "int64");
  for (int i = 0; i < n; ++i) {
    expect(bytes[i] == (char)i, "int8", (size_t)i);
    expect(words[i] == ((long long)i << 32) * ((1LL << size) - 1), "int64", (size_t)i);
  }
  buffers();
  fill(n);
  /* Each rank has a factor of its own. */
  ncclRedOp_t scaled;
  float scale = (float)(rank + 1);
  check(ncclRedOpCreatePreMulSum(&scaled, &scale, ncclFloat, ncclScalarHostImmediate, comm), "make an operator");
  check(ncclAllReduce(in, out, n, ncclFloat, scaled, comm, NULL), "a weighted sum");
  for (size_t i = 0; i < (size_t)n; ++i) {
    float expected = 0;
    for (int of = 0; of < size; ++of) expected += value(of, i) * (float)(of + 1);
    expect(out[i] == expected, "a weighted sum", i);
  }
  check(ncclRedOpDestroy(scaled, comm), "let it go");
  end();
}

/* Sends and receives in one group with allreduces, as a ring. */
static void groups(void) {
  init();
  buffers();
  const size_t n = 1000;
  float* ring = allocate(sizeof(float) * n);
  fill(4 * n);
  check(ncclGroupStart(), "start");
  check(ncclGroupStart(), "start within");
  check(ncclAllReduce(in, out, n, ncclFloat, ncclSum, comm, NULL), "first");
  check(ncclGroupEnd(), "end within");
  check(ncclSend(in + n, n, ncclFloat, (rank + 1) % size, comm, NULL), "send");
  check(ncclReduce(in + 3 * n, out + 3 * n, n, ncclFloat, ncclSum, 0, comm, NULL), "reduce");
  check(ncclAllReduce(in + 2 * n, out + 2 * n, n, ncclFloat, ncclSum, comm, NULL), "second");
  check(ncclRecv(ring, n, ncclFloat, (rank + size - 1) % size, comm, NULL), "receive");
  check(ncclGroupEnd(), "end");
  expect_sums(out, n, "first");
  for (size_t i = 0; i < n; ++i) {
    expect(out[2 * n + i] == sum(2 * n + i), "second", i);
    expect(rank != 0 || out[3 * n + i] == sum(3 * n + i), "reduce", i);
    expect(ring[i] == value((rank + size - 1) % size, n + i), "ring", i);
  }
  /* Whoever groups calls, and whoever does not, meet. */
  fill(2 * n);
  if (rank == 0) check(ncclGroupStart(), "start");
  check(ncclAllReduce(in, out, n, ncclFloat, ncclSum, comm, NULL), "third");
  check(ncclAllReduce(in + n, out + n, n, ncclFloat, ncclSum, comm, NULL), "fourth");
  if (rank == 0) check(ncclGroupEnd(), "end");
  expect_sums(out, 2 * n, "grouped on one rank");
  end();
}

static cudaStream_t stream_of(unsigned long handle) {
  return (cudaStream_t)handle; /* emulated GPUs have none: a name is enough */
}
static void* reduce_on_own_stream(void* unused) {
  (void)unused;
  check(ncclReduce(in, out, 10, ncclFloat, ncclSum, 0, comm, cudaStreamPerThread), "reduce of a thread");
  return NULL;
}

/* Allreduces and reduces by turns, on several streams. */
static void streams(void) {
  init();
  buffers();
  const cudaStream_t one = stream_of(0x1000), other = stream_of(0x2000);
  const struct {
    bool reduces;
    cudaStream_t stream;
  } calls[] = {{true, one},    {false, one}, {false, other}, {true, other}, {true, one},    {false, one}, {true, one},
               {false, other}, {true, one},  {true, other},  {false, NULL}, {false, other}, {true, NULL}};
  for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
    fill(10);
    if (calls[i].reduces)
      check(ncclReduce(in, out, 10, ncclFloat, ncclSum, 0, comm, calls[i].stream), "reduce");
    else
      check(ncclAllReduce(in, out, 10, ncclFloat, ncclSum, comm, calls[i].stream), "allreduce");
    if (!calls[i].reduces || rank == 0) expect_sums(out, 10, "on several streams");
  }
  /* One handle, and a stream of each thread. */
  fill(10);
  reduce_on_own_stream(NULL);
  check(ncclAllReduce(in, out, 10, ncclFloat, ncclSum, comm, cudaStreamPerThread), "allreduce");
  expect_sums(out, 10, "on a thread's stream");
  pthread_t thread;
  pthread_create(&thread, NULL, reduce_on_own_stream, NULL);
  pthread_join(thread, NULL);
  check(ncclAllReduce(in, out, 10, ncclFloat, ncclSum, comm, cudaStreamPerThread), "allreduce");
  expect_sums(out, 10, "behind another thread's stream");
  end();
}

static void messages(void) {
  init();
  buffers();
  fill(1000);
  check(ncclGroupStart(), "start");
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank) continue;
    check(ncclSend(in, 100, ncclFloat, peer, comm, NULL), "send");
    check(ncclRecv(out + 100 * peer, 100, ncclFloat, peer, comm, NULL), "receive");
  }
  check(ncclGroupEnd(), "end");
  for (size_t i = 0; i < 100u * (unsigned)size; ++i)
    if ((int)i / 100 != rank) expect(out[i] == value((int)i / 100, i % 100), "messages", i);
  end();
}

static void divided(void) {
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
static void shrunk(void) {
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
#endif

static void patient(void) {
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
static void patient_parts(void) {
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
static void pairs(void) {
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

static void all_in_one(void) {
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
  }
  for (int i = 0; i < kOnes; ++i) check(ncclCommDestroy(made[i]), "destroy");
  printf("all right\n");
}

static void wrong(void) {
  init();
  buffers();
  fill(10);
  expect(ncclBroadcast(in, out, 10, ncclFloat, size, comm, NULL) == ncclInvalidArgument, "a root that is none", 0);
  expect(ncclAllReduce(in, out, 10, (ncclDataType_t)99, ncclSum, comm, NULL) == ncclInvalidArgument, "a type", 0);
  expect(ncclGroupEnd() == ncclInvalidUsage, "an end without a start", 0);
  expect(!strcmp(ncclGetLastError(comm), "NCCL's own word"), "last error", 0);
  expect(ncclAllReduce(NULL, out, 10, ncclFloat, ncclSum, comm, NULL) == ncclInvalidArgument, "no input", 0);
  expect(strstr(ncclGetLastError(comm), "input is null") != NULL, "last error of sennit", 0);
  expect(strstr(ncclGetLastError(NULL), "input is null") != NULL, "last error of any communicator", 0);
  expect(ncclReduce(in, out, 10, ncclFloat, ncclSum, -1, comm, NULL) == ncclInvalidArgument, "another root", 0);
  expect(!strcmp(ncclGetLastError(comm), "NCCL's own word"), "last error, of NCCL again", 0);
  check(ncclAllReduce(in, out, 0, ncclFloat, ncclSum, comm, NULL), "nothing");
  check(ncclAllReduce(in, out, 10, ncclFloat, ncclSum, comm, NULL), "goes on");
  expect_sums(out, 10, "goes on");
  end();
}

static void* reduce_alone(void* result) {
  *(ncclResult_t*)result = ncclAllReduce(in, out, 100, ncclFloat, ncclSum, comm, NULL);
  return NULL;
}

/* Rank 0 does not come, and the others end what waits for it. */
static void aborted(void) {
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
  end();
}

/* The last rank dies while the others wait for it. */
static void lost(void) {
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
static void early(void) {
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

static void forked(void) {
  init();
  buffers();
  fill(100);
  const pid_t child = fork();
  if (child == 0) _exit(0);
  int status = 1;
  waitpid(child, &status, 0);
  expect(status == 0, "the child", (size_t)status);
  check(ncclAllReduce(in, out, 100, ncclFloat, ncclSum, comm, NULL), "allreduce");
  expect_sums(out, 100, "allreduce");
  end();
}

static void simulated(void) {
#if NCCL_VERSION_CODE >= 22200 && !defined(OLD)
  init();
  buffers();
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  check(ncclGroupStart(), "start");
  check(ncclAllReduce(in, out, 100, ncclFloat, ncclSum, comm, NULL), "allreduce");
  check(ncclGroupSimulateEnd(&info), "simulate");
  fill(100);
  check(ncclAllReduce(in, out, 100, ncclFloat, ncclSum, comm, NULL), "allreduce");
  expect_sums(out, 100, "behind a simulated group");
  end();
#endif
}

int main(int count, char** arguments) {
  if (count != 5) return 2;
  rank = atoi(arguments[1]);
  size = atoi(arguments[2]);
  folder = arguments[3];
  static const struct {
    const char* name;
    void (*run)(void);
  } tests[] = {
    {"collectives", collectives},
    {"types", types},
    {"groups", groups},
    {"streams", streams},
    {"messages", messages},
    {"divided", divided},
    {"patient", patient},
    {"patient_parts", patient_parts},
    {"pairs", pairs},
    {"all_in_one", all_in_one},
    {"wrong", wrong},
    {"aborted", aborted},
    {"lost", lost},
    {"early", early},
    {"forked", forked},
    {"simulated", simulated},
#if NCCL_VERSION_CODE >= 22700 && !defined(OLD)
    {"shrunk", shrunk},
#endif
  };
  for (size_t i = 0; i < sizeof tests / sizeof *tests; ++i)
    if (!strcmp(arguments[4], tests[i].name)) {
      tests[i].run();
      return 0;
    }
  return 2;
}
