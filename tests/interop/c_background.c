/* What Horovod asks of an MPI: the main thread says which tensors are ready, in an order that differs from rank to
 * rank, and a thread in the background, which alone starts and ends MPI, agrees with the others' which all have and
 * reduces them. In cycles of 1 ms: what is ready as a vector of bits (MPI_BAND; MPI_BOR tells whether a rank has
 * something new), names of what is new by MPI_Gatherv and the answer by MPI_Bcast, all in host memory and on a
 * communicator of its own; then tensors in GPU memory, fused where they are reduced. Meanwhile the main thread
 * reduces on MPI_COMM_WORLD. test_c_programs.py compiles it for each MPI. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "c_ranks.h"

enum { kTensors = 14, kSteps = 12 / kLess, kFused = 1 << 21, kLongestName = 32 };
enum kind { reduced, gathered, broadcast, halves };

struct tensor {
  enum kind kind;
  int count; /* of floats; of 16-bit numbers where they are halves. A rank gathers count + rank. */
  float *mine, *all;
};

static struct tensor tensors[kTensors];
static int provided;
static MPI_Comm ours; /* the background thread's */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static uint64_t ready, done; /* a bit for each tensor; guarded by the mutex, as are the next two */
static int started, ending;

/* ---- the background ----------------------------------------------------------------------------------------------
 */

static void add_halves(void* from, void* to, int* length, MPI_Datatype* type) {
  (void)type;
  const uint16_t* const in = from;
  uint16_t* const inout = to;
  for (int i = 0; i < *length; ++i) inout[i] = (uint16_t)(inout[i] + in[i]);
}

/* Which tensors all ranks have, from those that this one has. `known`: those whose names all ranks have told before.
 */
static uint64_t agree(uint64_t mine, int ends_here, uint64_t* known, int* ends) {
  uint64_t common[2] = {mine & *known, ends_here ? ~UINT64_C(0) : 0};
  uint64_t any = mine & ~*known;
  MPI_Allreduce(MPI_IN_PLACE, common, 2, MPI_UINT64_T, MPI_BAND, ours);
  MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_UINT64_T, MPI_BOR, ours);
  *ends = common[1] != 0;
  if (any == 0) return common[0];

  /* Names of what is new, of as many as a rank has. */
  char names[kTensors * kLongestName] = "", *all = NULL;
  for (int i = 0; i < kTensors; ++i)
    if ((mine & ~*known) >> i & 1) sprintf(names + strlen(names), "tensor.%d ", i);
  int length = (int)strlen(names), total = 0;
  int* const lengths = calloc((size_t)ranks * 2, sizeof(int));
  int* const places = lengths + ranks;
  MPI_Gather(&length, 1, MPI_INT, lengths, 1, MPI_INT, 0, ours);
  if (rank == 0) {
    for (int i = 0; i < ranks; total += lengths[i++]) places[i] = total;
    all = calloc((size_t)total + 1, 1);
  }
  MPI_Gatherv(names, length, MPI_CHAR, all, lengths, places, MPI_CHAR, 0, ours);
  uint64_t found = 0;
  if (rank == 0) {
    int told[kTensors] = {0};
    for (const char* word = strtok(all, " "); word != NULL; word = strtok(NULL, " ")) {
      check(strncmp(word, "tensor.", 7) == 0, "a name", total);
      ++told[atoi(word + 7)];
    }
    for (int i = 0; i < kTensors; ++i)
      if (told[i] == ranks) found |= UINT64_C(1) << i;
  }
  MPI_Bcast(&found, (int)sizeof found, MPI_BYTE, 0, ours);
  free(lengths);
  free(all);
  *known |= found;
  return common[0] | found;
}

/* Those of a set that fit together, in one buffer. */
static void reduce_fused(uint64_t set, float* fused) {
  int first = 0;
  while (first < kTensors) {
    int count = 0, end = first;
    for (; end < kTensors; ++end) {
      if (!(set >> end & 1) || tensors[end].kind != reduced) continue; /* others are perhaps being made */
      if (count + tensors[end].count > kFused) break;
      memcpy(fused + count, tensors[end].mine, (size_t)tensors[end].count * sizeof(float));
      count += tensors[end].count;
    }
    if (count > 0) MPI_Allreduce(MPI_IN_PLACE, fused, count, MPI_FLOAT, MPI_SUM, ours);
    for (int i = first, at = 0; i < end; ++i) {
      if (!(set >> i & 1) || tensors[i].kind != reduced) continue;
      memcpy(tensors[i].mine, fused + at, (size_t)tensors[i].count * sizeof(float));
      at += tensors[i].count;
    }
    first = end;
  }
}

static void do_others(uint64_t set, MPI_Datatype half, MPI_Op sum_of_halves) {
  int* const lengths = calloc((size_t)ranks * 2, sizeof(int));
  int* const places = lengths + ranks;
  for (int i = 0; i < kTensors; ++i) {
    const struct tensor* const one = &tensors[i];
    if (!(set >> i & 1)) continue;
    if (one->kind == gathered) {
      const int mine = one->count + rank;
      MPI_Allgather(&mine, 1, MPI_INT, lengths, 1, MPI_INT, ours);
      for (int r = 1; r < ranks; ++r) places[r] = places[r - 1] + lengths[r - 1];
      MPI_Allgatherv(one->mine, mine, MPI_FLOAT, one->all, lengths, places, MPI_FLOAT, ours);
    }
    if (one->kind == broadcast) MPI_Bcast(one->mine, one->count, MPI_FLOAT, i % ranks, ours);
    if (one->kind == halves) MPI_Allreduce(MPI_IN_PLACE, one->mine, one->count, half, sum_of_halves, ours);
  }
  free(lengths);
}

static void* background(void* nothing) {
  (void)nothing;
  MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
  know_ranks();
  MPI_Comm_dup(MPI_COMM_WORLD, &ours);
  MPI_Comm local, cross;
  int local_rank = 0;
  MPI_Comm_split_type(ours, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local);
  MPI_Comm_rank(local, &local_rank);
  MPI_Comm_split(ours, local_rank, rank, &cross);
  MPI_Datatype half;
  MPI_Op sum_of_halves;
  MPI_Type_contiguous(2, MPI_BYTE, &half);
  MPI_Type_commit(&half);
  MPI_Op_create(&add_halves, 1, &sum_of_halves);
  float* const fused = on_gpu(kFused * sizeof(float));
  pthread_mutex_lock(&mutex);
  started = 1;
  pthread_cond_signal(&changed);
  uint64_t known = 0;
  for (int ends = 0; !ends;) {
    const uint64_t mine = ready;
    const int ends_here = ending;
    pthread_mutex_unlock(&mutex);
    usleep(1000);
    const uint64_t set = agree(mine, ends_here, &known, &ends);
    reduce_fused(set, fused);
    do_others(set, half, sum_of_halves);
    pthread_mutex_lock(&mutex);
    ready &= ~set;
    done |= set;
    if (set != 0) pthread_cond_signal(&changed);
  }
  pthread_mutex_unlock(&mutex);
  MPI_Op_free(&sum_of_halves);
  MPI_Type_free(&half);
  MPI_Comm_free(&cross);
  MPI_Comm_free(&local);
  MPI_Comm_free(&ours);
  MPI_Finalize();
  return NULL;
}

/* ---- the program -------------------------------------------------------------------------------------------------
 */

/* What rank `of` puts into element `at`, as small as sums of whole numbers are exact. */
static int given(int of, int number, int step, int at) {
  return (of + 1) * (number + 1) + step + at % 13;
}

static int summed(int number, int step, int at) {
  return ranks * (ranks + 1) / 2 * (number + 1) + ranks * (step + at % 13);
}

static void make_tensors(void) {
  static const int counts[kTensors] = {1,   3,   1000,   64000, 1000003, 5,    1500000,
                                       700, 256, 300000, 17,    400000,  2000, 8192};
  static const enum kind kinds[kTensors] = {reduced, reduced,  reduced,   reduced,  reduced,   gathered, reduced,
                                            halves,  gathered, broadcast, gathered, broadcast, reduced,  reduced};
  for (int i = 0; i < kTensors; ++i) {
    struct tensor* const one = &tensors[i];
    one->kind = kinds[i];
    one->count = counts[i];
    one->mine = on_gpu((size_t)(counts[i] + ranks) * sizeof(float));
    one->all = one->kind == gathered ? on_gpu((size_t)(counts[i] + ranks) * (size_t)ranks * sizeof(float)) : NULL;
  }
}

static void fill(int number, int step) {
  const struct tensor* const one = &tensors[number];
  uint16_t* const sixteen = (uint16_t*)one->mine;
  const int count = one->count + (one->kind == gathered ? rank : 0);
  for (int i = 0; i < count; ++i)
    if (one->kind == halves)
      sixteen[i] = (uint16_t)given(rank, number, step, i);
    else
      one->mine[i] = (float)given(rank, number, step, i);
}

static void verify(int number, int step) {
  const struct tensor* const one = &tensors[number];
  const uint16_t* const sixteen = (const uint16_t*)one->mine;
  if (one->kind == gathered) {
    const float* next = one->all;
    for (int r = 0; r < ranks; ++r)
      for (int i = 0; i < one->count + r; ++i)
        check(*next++ == (float)given(r, number, step, i), "gathered tensor", number);
    return;
  }
  for (int i = 0; i < one->count; ++i) {
    if (one->kind == reduced) check(one->mine[i] == (float)summed(number, step, i), "reduced tensor", number);
    if (one->kind == halves) check(sixteen[i] == (uint16_t)summed(number, step, i), "tensor of halves", number);
    if (one->kind == broadcast)
      check(one->mine[i] == (float)given(number % ranks, number, step, i), "broadcast tensor", number);
  }
}

/* All tensors become ready in an order of this rank's own. */
static void offer(int step) {
  unsigned seed = (unsigned)(rank * 1000 + step);
  int order[kTensors];
  for (int i = 0; i < kTensors; ++i) order[i] = i;
  for (int i = kTensors - 1; i > 0; --i) {
    const int other = rand_r(&seed) % (i + 1), kept = order[i];
    order[i] = order[other];
    order[other] = kept;
  }
  for (int i = 0; i < kTensors; ++i) {
    fill(order[i], step);
    pthread_mutex_lock(&mutex);
    ready |= UINT64_C(1) << order[i];
    pthread_mutex_unlock(&mutex);
    if (rand_r(&seed) % 4 == 0) usleep(500);
  }
}

int main(void) {
  pthread_t thread;
  check(pthread_create(&thread, NULL, &background, NULL) == 0, "no thread", 0);
  pthread_mutex_lock(&mutex);
  while (!started) pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
  make_tensors();
  for (int step = 0; step < kSteps; ++step) {
    offer(step);
    if (provided == MPI_THREAD_MULTIPLE) { /* what a program averages itself: a metric */
      double metric = rank + step;
      MPI_Allreduce(MPI_IN_PLACE, &metric, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      check(metric == ranks * (ranks - 1) / 2.0 + ranks * step, "the main thread's sum of step", step);
    }
    pthread_mutex_lock(&mutex);
    while (done != (UINT64_C(1) << kTensors) - 1) pthread_cond_wait(&changed, &mutex);
    done = 0;
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < kTensors; ++i) verify(i, step);
  }
  pthread_mutex_lock(&mutex);
  ending = 1;
  pthread_mutex_unlock(&mutex);
  pthread_join(thread, NULL);
  if (rank == 0) fputs("all arrived\n", stdout);
  return 0;
}
