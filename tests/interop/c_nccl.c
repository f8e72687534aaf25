/* A program of several ranks that calls NCCL: c_nccl RANK SIZE FOLDER TEST. Prints "all right" where everything that
 * it got is what NCCL promises. Buffers count as GPU memory where they are emulated. The file is long: main() and the
 * tests of plain calls. */
#define _GNU_SOURCE
#include "c_nccl.h"

#include <pthread.h>
#include <string.h>
#include <sys/wait.h>

#include "../../include/sennit/profile.h"

int rank, size;
const char* folder;
ncclComm_t comm;
float* in;
float* out;
static const size_t counts[] = {1, 3, 1000, 70000};
enum { kCounts = 4 };

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

/* Calls and groups that are left to NCCL between others that are not. */
static void compared(void) {
  const size_t n = 1000;
  init();
  buffers();
  for (int time = 0; time < 6; ++time) {
    const int is_there = sennit_leave_to_nccl != NULL && sennit_leave_to_nccl(time % 2);
    if (time > 0 && sennit_leave_to_nccl != NULL && !is_there) fail("there is no drop-in", time);
    const unsigned long before = is_there ? sennit_calls_taken() : 0;
    fill(n);
    check(ncclAllReduce(in, out, n, ncclFloat, ncclSum, comm, NULL), "allreduce");
    expect_sums(out, n, "allreduce");
    check(ncclGroupStart(), "group");
    check(ncclAllReduce(in, out, n, ncclFloat, ncclSum, comm, NULL), "allreduce in a group");
    check(ncclAllReduce(in, in, n, ncclFloat, ncclSum, comm, NULL), "allreduce in a group, in place");
    check(ncclGroupEnd(), "group");
    expect_sums(in, n, "allreduce in a group");
    if (is_there) expect(sennit_calls_taken() - before == (time % 2 ? 0 : 3), "calls that sennit did", (size_t)time);
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
  /* One that is gone before its group ends. */
  check(ncclRedOpCreatePreMulSum(&scaled, &scale, ncclFloat, ncclScalarHostImmediate, comm), "make another");
  check(ncclGroupStart(), "start");
  check(ncclAllReduce(in, in, n, ncclFloat, ncclSum, comm, NULL), "a sum");
  check(ncclAllReduce(out, out, n, ncclFloat, scaled, comm, NULL), "a weighted sum");
  check(ncclRedOpDestroy(scaled, comm), "let it go");
  check(ncclGroupEnd(), "end");
  for (size_t i = 0; i < (size_t)n; ++i) {
    float expected = 0, weights = 0;
    for (int of = 0; of < size; ++of) {
      expected += value(of, i) * (float)(of + 1);
      weights += (float)(of + 1);
    }
    expect(in[i] == sum(i), "a sum beside it", i);
    expect(out[i] == expected * weights, "a weighted sum in a group", i);
  }
  expect(ncclRedOpDestroy(scaled, comm) != ncclSuccess, "it was let go", 0);
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
  const size_t fewer = n - 1;
  fill(2 * fewer);
  if (rank == 0) check(ncclGroupStart(), "start");
  check(ncclAllReduce(in, out, fewer, ncclFloat, ncclSum, comm, NULL), "third");
  check(ncclAllReduce(in + fewer, out + fewer, fewer, ncclFloat, ncclSum, comm, NULL), "fourth");
  if (rank == 0) check(ncclGroupEnd(), "end");
  expect_sums(out, 2 * fewer, "grouped on one rank");
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

/* Allreduces of both libraries: what has a configuration of its own is NCCL's. */
#ifndef OLD
static void configured(void) {
  init();
  buffers();
  const cudaStream_t one = stream_of(0x1000), other = stream_of(0x2000);
  const struct {
    bool is_configured, grouped;
    cudaStream_t stream;
  } calls[] = {{true, false, one},    {false, false, one},  {false, false, other}, {true, false, one},
               {false, false, other}, {true, false, other}, {false, true, other},  {true, true, one}};
  for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
    const size_t at = calls[i].grouped && calls[i].is_configured ? 10 : 0;
    if (at == 0) fill(20);
    if (calls[i].grouped && at == 0) check(ncclGroupStart(), "start");
    if (calls[i].is_configured)
      check(ncclAllReduceConfig(in + at, out + at, 10, ncclFloat, ncclSum, comm, calls[i].stream, NULL),
            "configured");
    else
      check(ncclAllReduce(in + at, out + at, 10, ncclFloat, ncclSum, comm, calls[i].stream), "allreduce");
    if (calls[i].grouped && at == 0) continue;
    if (calls[i].grouped) check(ncclGroupEnd(), "end");
    expect_sums(out, at + 10, "on several streams");
  }
  end();
}
#endif

static void send_one(const float* from, size_t count, int peer) {
  check(ncclSend(from, count, ncclFloat, peer, comm, NULL), "send");
}
static void receive_one(float* to, size_t count, int peer) {
  check(ncclRecv(to, count, ncclFloat, peer, comm, NULL), "receive");
}

/* All-to-all as programs write it, a ring on two streams, and messages without a group. */
static void messages(void) {
  init();
  buffers();
  for (int which = 0; which < kCounts; ++which) {
    const size_t n = counts[which];
    fill(n);
    for (size_t i = 0; i < n * (size_t)size; ++i) out[i] = -1;
    check(ncclGroupStart(), "start");
    for (int peer = 0; peer < size; ++peer) {
      send_one(in, n, peer);
      receive_one(out + n * (size_t)peer, n, peer);
    }
    check(ncclGroupEnd(), "end");
    for (int peer = 0; peer < size; ++peer) expect_from(out + n * (size_t)peer, peer, 0, n, "all to all");
  }
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  fill(1000);
  check(ncclGroupStart(), "start");
  check(ncclRecv(out, 1000, ncclFloat, last, comm, stream_of(0x1000)), "receive on one stream");
  check(ncclSend(in, 4000, ncclInt8, next, comm, stream_of(0x2000)), "send on another one, as bytes");
  check(ncclGroupEnd(), "end");
  expect_from(out, last, 0, 1000, "a ring on two streams");
  check(ncclAllReduce(in, out, 1000, ncclFloat, ncclSum, comm, stream_of(0x1000)), "behind them");
  expect_sums(out, 1000, "behind them");
  /* A rank gets all that the one before has, in order; the group of one end is none of the other's business. */
  const size_t parts[] = {1, 70000, 500, 20000};
  fill(90501);
  if (rank == 0) check(ncclGroupStart(), "start");
  for (size_t i = 0, at = 0; rank != size - 1 && i < 4; at += parts[i++]) send_one(in + at, parts[i], next);
  if (rank == 0) check(ncclGroupEnd(), "end");
  for (size_t i = 0, at = 0; rank != 0 && i < 4; at += parts[i++]) receive_one(out + at, parts[i], last);
  if (rank != 0) expect_from(out, last, 0, 90501, "along a chain");
  end();
}

/* Rank 0 has one group. What the others wait for, in their order, only ends if all of it goes at the same time. */
static void crossed(void) {
  init();
  buffers();
  const size_t n = 262144;
  fill(n);
  if (rank == 0) {
    check(ncclGroupStart(), "start");
    send_one(in, n, 1);
    send_one(in, n, 2);
    check(ncclGroupEnd(), "end");
  } else if (rank == 1) {
    receive_one(out, n, 2);
    expect_from(out, 2, 0, n, "from 2");
    receive_one(out, n, 0);
    expect_from(out, 0, 0, n, "from 0, last");
  } else {
    receive_one(out, n, 0);
    expect_from(out, 0, 0, n, "from 0, first");
    send_one(in, n, 1);
  }
  end();
}

/* Two messages of which each library does one, where rank 1 comes to them one by one, in either order. */
static void shared_out(void) {
  init();
  buffers();
  const size_t lengths[] = {262144, 32768};
  for (int round = 0; round < 8; ++round) {
    const bool rank_0_sends = round % 2 == 0;
    const bool sends = (rank == 0) == rank_0_sends;
    fill(300000);
    if (rank == 0) check(ncclGroupStart(), "start");
    for (int i = 0; i < 2; ++i) {
      const int which = rank == 0 ? i : (i + round / 2) % 2;
      const size_t at = which == 0 ? 0 : lengths[0];
      if (sends)
        send_one(in + at, lengths[which], 1 - rank);
      else
        receive_one(out + at, lengths[which], 1 - rank);
    }
    if (rank == 0) check(ncclGroupEnd(), "end");
    if (!sends) expect_from(out, 1 - rank, 0, lengths[0] + lengths[1], "by both libraries");
    check(ncclAllReduce(in, out, 10, ncclFloat, ncclSum, comm, stream_of(0x1000)), "behind them");
    expect_sums(out, 10, "behind them");
  }
  end();
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
  expect(ncclSend(in, 10, ncclFloat, size, comm, NULL) == ncclInvalidArgument, "a peer that is none", 0);
  /* A message to oneself whose other end is elsewhere: the tests' NCCL keeps it. */
  check(ncclSend(in, 10, ncclFloat, rank, comm, NULL), "to oneself");
  check(ncclRecv(out, 10, ncclFloat, rank, comm, NULL), "from oneself");
  expect_from(out, rank, 0, 10, "from oneself");
  check(ncclAllReduce(in, out, 0, ncclFloat, ncclSum, comm, NULL), "nothing");
  check(ncclAllReduce(in, out, 10, ncclFloat, ncclSum, comm, NULL), "goes on");
  expect_sums(out, 10, "goes on");
  end();
}

static void forked(void) {
  init();
  buffers();
  fill(100);
  for (int in_order = 0; in_order < 2; ++in_order) {
    const pid_t child = fork();
    if (child == 0 && in_order) exit(0);
    if (child == 0) _exit(0);
    int status = 1;
    waitpid(child, &status, 0);
    expect(status == 0, "the child", (size_t)status);
  }
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

/* A driver's own that captures one stream. */
__attribute__((weak)) void fake_replay(int times);
static void replayed(void) {
  const cudaStream_t captured = (cudaStream_t)-1;
  init();
  buffers();
  fill(1000);
  check(ncclAllReduce(in, out, 1000, ncclFloat, ncclSum, comm, NULL), "allreduce");
  check(ncclAllReduce(in, out, 1000, ncclFloat, ncclSum, comm, captured), "allreduce");
  check(ncclGroupStart(), "group");
  check(ncclAllReduce(in, out, 1000, ncclFloat, ncclSum, comm, captured), "allreduce");
  check(ncclAllGather(in, out, 10, ncclFloat, comm, captured), "allgather");
  check(ncclGroupEnd(), "group");
  if (fake_replay != NULL) fake_replay(5);
  end();
}

/* Calls that are not recorded, alone and in a group; and of a communicator that begins meanwhile. */
static void paused(void) {
  init();
  buffers();
  fill(1000);
  (void)sennit_profile_pause(1);
  ncclComm_t other;
  check(ncclCommSplit(comm, 0, rank, &other, NULL), "split");
  check(ncclAllReduce(in, out, 1000, ncclFloat, ncclSum, comm, NULL), "allreduce");
  check(ncclGroupStart(), "group");
  for (int i = 0; i < 2; ++i) check(ncclAllReduce(in, out, 1000, ncclFloat, ncclSum, comm, NULL), "allreduce");
  check(ncclGroupEnd(), "group");
  (void)sennit_profile_pause(0);
  check(ncclAllReduce(in, out, 1000, ncclFloat, ncclSum, comm, NULL), "allreduce");
  check(ncclAllGather(in, out, 10, ncclFloat, other, NULL), "allgather");
  check(ncclCommDestroy(other), "destroy");
  end();
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
    {"compared", compared},
    {"types", types},
    {"groups", groups},
    {"streams", streams},
    {"messages", messages},
    {"crossed", crossed},
    {"shared_out", shared_out},
    {"divided", divided},
    {"patient", patient},
    {"patient_beside", patient_beside},
    {"patient_parts", patient_parts},
    {"pairs", pairs},
    {"all_in_one", all_in_one},
    {"of_threads", of_threads},
    {"at_once", at_once},
    {"ended_late", ended_late},
    {"wrong", wrong},
    {"aborted", aborted},
    {"mismatched", mismatched},
    {"mismatched_between", mismatched_between},
    {"uneven", uneven},
    {"freed_input", freed_input},
    {"freed_output", freed_output},
    {"lost", lost},
    {"early", early},
    {"done_first", done_first},
    {"ended_in_wait", ended_in_wait},
    {"ended_in_vain", ended_in_vain},
    {"ended_too_soon", ended_too_soon},
    {"aborted_in_the_making", aborted_in_the_making},
    {"aborted_in_destroy", aborted_in_destroy},
    {"aborted_in_finalize", aborted_in_finalize},
    {"finalized_later", finalized_later},
    {"forked", forked},
    {"starting", starting},
    {"simulated", simulated},
    {"replayed", replayed},
    {"paused", paused},
#ifndef OLD
    {"configured", configured},
    {"grown", grown},
    {"grown_patiently", grown_patiently},
#endif
#if NCCL_VERSION_CODE >= 22700 && !defined(OLD)
    {"shrunk", shrunk},
    {"shrunk_aside", shrunk_aside},
    {"shrunk_in_destroy", shrunk_in_destroy},
    {"windows", windows},
    {"scalable", scalable},
    {"begun_in_simulation", begun_in_simulation},
    {"revoked", revoked},
    {"revoked_in_destroy", revoked_in_destroy},
    {"revoked_in_finalize", revoked_in_finalize},
    {"latest", latest},
#endif
  };
  for (size_t i = 0; i < sizeof tests / sizeof *tests; ++i)
    if (!strcmp(arguments[4], tests[i].name)) {
      tests[i].run();
      return 0;
    }
  return 2;
}
