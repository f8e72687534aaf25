/* Accumulating one-sided calls from C, long and short, of memory of GPUs and of the host: every operator and type,
 * against what MPI_Reduce_local makes of the same bytes. test_c_windows.py compiles it for each MPI. */
#define _GNU_SOURCE
#include <complex.h>
#include <stdint.h>
#include <string.h>

#include "c_ranks.h"

enum { kBytes = 12 << 20, kLong = 5000, kTimes = 16 / kLess };
static char *window, *origins[2], *results[2], *expected, *scratch;

static void check_of(int holds, const char* what, const char* of, int number) {
  if (!holds) give_up("%s, %s, %d", what, of, number);
}

/* Which operators MPI defines. */
enum Kind { kInteger, kReal, kComplex, kBits, kTruth };
struct Type {
  const char* name;
  MPI_Datatype type;
  int bytes;
  enum Kind kind;
};
struct Operator {
  const char* name;
  MPI_Op op;
  unsigned kinds; /* bit k: of kind k */
};

static int random_of(unsigned* state) {
  *state = *state * 1664525u + 1013904223u;
  return (int)(*state >> 8);
}
/* `count` elements that are the same whenever and wherever the seed is. */
static void fill(void* to, const struct Type* type, int count, unsigned seed) {
  unsigned state = seed;
  for (int i = 0; i < count * type->bytes; ++i) ((char*)to)[i] = (char)random_of(&state);
  if (type->kind == kTruth)
    for (int i = 0; i < count; ++i) ((char*)to)[i] &= 1;
  /* What MPIs agree on: MPICH 4.0 compares unsigned numbers as if they were signed, and short ones that grow too
   * large become the largest with Open MPI's vector instructions. */
  const int top = type->bytes <= 2 ? 0x3f : type->name[0] == 'u' ? 0x7f : 0xff;
  if (type->kind == kInteger)
    for (int i = 1; i <= count; ++i) ((char*)to)[i * type->bytes - 1] &= (char)top;
  if (type->kind != kReal && type->kind != kComplex) return;
  const int single = type->bytes == (type->kind == kReal ? 4 : 8);
  const int numbers = count * (type->kind == kReal ? 1 : 2);
  for (int i = 0; i < numbers; ++i) {
    const double number = (random_of(&state) - (1 << 23)) / 97.0;
    if (single)
      ((float*)to)[i] = (float)number;
    else
      ((double*)to)[i] = number;
  }
}

/* One call to the right: what it leaves there, and what it fetches. `displaced`: bytes from the window's begin. */
static void once(MPI_Win win, const struct Type* type, const struct Operator* op, int count, int displaced, int from,
                 int to) {
  static unsigned seed = 1;
  const size_t bytes = (size_t)count * (size_t)type->bytes;
  char* const origin = origins[from];
  char* const result = results[to];
  char name[64];
  snprintf(name, sizeof name, "%s of %s", op->name, type->name);
  seed += 1000;
  fill(scratch, type, count, seed + (unsigned)rank);
  memset(window, 0x5a, (size_t)displaced + bytes + 64);
  memcpy(window + displaced, scratch, bytes);
  fill(origin, type, count, seed + 500 + (unsigned)rank);
  memset(result, 0x33, bytes + 1);
  MPI_Win_fence(0, win);
  if (op->op == MPI_NO_OP)
    MPI_Get_accumulate(NULL, 0, type->type, result, count, type->type, right, displaced, count, type->type, op->op,
                       win);
  else if (to == 0 && from == 0)
    MPI_Accumulate(origin, count, type->type, right, displaced, count, type->type, op->op, win);
  else
    MPI_Get_accumulate(origin, count, type->type, result, count, type->type, right, displaced, count, type->type,
                       op->op, win);
  MPI_Win_fence(0, win);
  fill(scratch, type, count, seed + (unsigned)right);
  if (op->op == MPI_NO_OP || to != 0 || from != 0)
    check_of(!memcmp(result, scratch, bytes), "what was fetched", name, count);
  check_of(op->op == MPI_NO_OP || to != 0 || from != 0 || result[0] == 0x33, "nothing was to be fetched", name, 0);
  check_of(result[bytes] == 0x33, "behind what was fetched", name, count);
  fill(scratch, type, count, seed + 500 + (unsigned)left);
  fill(expected, type, count, seed + (unsigned)rank);
  if (op->op == MPI_REPLACE)
    memcpy(expected, scratch, bytes);
  else if (op->op != MPI_NO_OP)
    MPI_Reduce_local(scratch, expected, count, type->type, op->op);
  check_of(!memcmp(window + displaced, expected, bytes), "what was left", name, count);
  for (int i = 0; i < displaced; ++i) check_of(window[i] == 0x5a, "before the target", name, i);
  for (int i = 0; i < 64; ++i)
    check_of(window[(size_t)displaced + bytes + (size_t)i] == 0x5a, "behind the target", name, i);
}

static void everything(MPI_Win win) {
  const struct Type types[] = {{"signed char", MPI_SIGNED_CHAR, 1, kInteger},
                               {"uint8_t", MPI_UINT8_T, 1, kInteger},
                               {"short", MPI_SHORT, 2, kInteger},
                               {"uint16_t", MPI_UINT16_T, 2, kInteger},
                               {"int", MPI_INT, 4, kInteger},
                               {"uint32_t", MPI_UINT32_T, 4, kInteger},
                               {"int64_t", MPI_INT64_T, 8, kInteger},
                               {"unsigned long", MPI_UNSIGNED_LONG, 8, kInteger},
                               {"float", MPI_FLOAT, 4, kReal},
                               {"double", MPI_DOUBLE, 8, kReal},
                               {"float complex", MPI_C_FLOAT_COMPLEX, 8, kComplex},
                               {"double complex", MPI_C_DOUBLE_COMPLEX, 16, kComplex},
                               {"byte", MPI_BYTE, 1, kBits},
                               {"bool", MPI_C_BOOL, 1, kTruth}};
  const unsigned numbers = 1u << kInteger | 1u << kReal, bits = 1u << kInteger | 1u << kBits;
  const unsigned truths = 1u << kInteger | 1u << kTruth;
  const struct Operator operators[] = {{"sum", MPI_SUM, numbers | 1u << kComplex},
                                       {"product", MPI_PROD, numbers | 1u << kComplex},
                                       {"min", MPI_MIN, numbers},
                                       {"max", MPI_MAX, numbers},
                                       {"bit and", MPI_BAND, bits},
                                       {"bit or", MPI_BOR, bits},
                                       {"bit xor", MPI_BXOR, bits},
                                       {"and", MPI_LAND, truths},
                                       {"or", MPI_LOR, truths},
                                       {"xor", MPI_LXOR, truths},
                                       {"replace", MPI_REPLACE, ~0u},
                                       {"nothing", MPI_NO_OP, ~0u}};
  int turn = 0;
  for (size_t t = 0; t < sizeof types / sizeof *types; ++t)
    for (size_t o = 0; o < sizeof operators / sizeof *operators; ++o) {
      if (!(operators[o].kinds >> types[t].kind & 1)) continue;
      once(win, &types[t], &operators[o], 1, types[t].bytes, turn & 1, turn >> 1 & 1);
      once(win, &types[t], &operators[o], kLong + turn, types[t].bytes * 3, turn & 1, turn >> 1 & 1);
      ++turn;
    }
  /* Where no number may begin for some, and more than is brought to a GPU at a time. */
  for (int from = 0; from < 2; ++from)
    for (int to = 0; to < 2; ++to) {
      once(win, &types[4], &operators[0], kLong, 1, from, to);
      once(win, &types[8], &operators[0], (10 << 20) / 4, 4, from, to);
    }
}

/* Long ones, short ones and fetching ones of all ranks at once, on the same elements. */
static void at_once(MPI_Win win) {
  int* const one = (int*)origins[0];
  int* const old = (int*)results[0];
  memset(window, 0, kLong * sizeof(int));
  for (int i = 0; i < kLong; ++i) one[i] = ((int*)origins[1])[i] = 1;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < kTimes; ++i) {
    MPI_Request request;
    MPI_Accumulate(origins[i & 1], kLong, MPI_INT, 0, 0, kLong, MPI_INT, MPI_SUM, win);
    MPI_Accumulate(one, 1, MPI_INT, 0, 4 * (i % 7), 1, MPI_INT, MPI_SUM, win);
    MPI_Fetch_and_op(one, old, MPI_INT, 0, 4 * 7, MPI_SUM, win);
    MPI_Win_flush(0, win);
    check_of(*old >= 2 * i + 1, "fetch and add", "int", *old);
    MPI_Rget_accumulate(one, kLong, MPI_INT, old, kLong, MPI_INT, 0, 0, kLong, MPI_INT, MPI_SUM, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int at = 8; at < kLong; ++at)
      check_of(old[at] > 2 * i && old[at] < 2 * kTimes * ranks, "a long fetch", "int", old[at]);
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0)
    for (int i = 0; i < kLong; ++i) {
      int all = 2 * kTimes * ranks;
      for (int time = 0; i < 7 && time < kTimes; ++time) all += (time % 7 == i) * ranks;
      all += (i == 7) * kTimes * ranks;
      check_of(((int*)window)[i] == all, "all that was added", "int", i);
    }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Types that are made of others: without gaps, and with them. */
static void derived(MPI_Win win) {
  MPI_Datatype hundred, second;
  int* const mine = (int*)origins[0];
  MPI_Type_contiguous(100, MPI_INT, &hundred);
  MPI_Type_vector(kLong, 1, 2, MPI_INT, &second);
  MPI_Type_commit(&hundred);
  MPI_Type_commit(&second);
  for (int i = 0; i < 2 * kLong; ++i) ((int*)window)[i] = rank * 10, mine[i] = i;
  MPI_Win_fence(0, win);
  MPI_Accumulate(mine, kLong / 100, hundred, right, 0, kLong, MPI_INT, MPI_SUM, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < 2 * kLong; ++i)
    check_of(((int*)window)[i] == rank * 10 + (i < kLong ? i : 0), "a contiguous type", "int", i);
  MPI_Win_fence(0, win);
  MPI_Accumulate(mine, kLong, MPI_INT, right, 0, 1, second, MPI_SUM, win);
  MPI_Accumulate(mine, 0, MPI_INT, right, 0, 0, MPI_INT, MPI_SUM, win);
  MPI_Accumulate(NULL, 0, MPI_INT, right, 0, 0, second, MPI_SUM, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < 2 * kLong; ++i)
    check_of(((int*)window)[i] == rank * 10 + (i < kLong ? i : 0) + (i % 2 ? 0 : i / 2), "a vector", "int", i);
  MPI_Type_free(&hundred);
  MPI_Type_free(&second);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Of one part of the window to another one, at the same rank. */
static void within(MPI_Win win) {
  for (int i = 0; i < 2 * kLong; ++i) ((int*)window)[i] = i;
  MPI_Win_fence(0, win);
  MPI_Accumulate(window, kLong, MPI_INT, rank, 4 * kLong, kLong, MPI_INT, MPI_SUM, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < 2 * kLong; ++i)
    check_of(((int*)window)[i] == (i < kLong ? i : 2 * i - kLong), "within a window", "int", i);
}

static void large_units(void) {
  enum { kUnit = 4096 };
  MPI_Win win;
  int* const mine = (int*)origins[0];
  MPI_Win_create(window, kBytes, kUnit, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  for (int i = 0; i < kBytes / 4; ++i) ((int*)window)[i] = i;
  for (int i = 0; i < kLong; ++i) mine[i] = 7;
  MPI_Win_fence(0, win);
  MPI_Accumulate(mine, kLong, MPI_INT, right, 2000, kLong, MPI_INT, MPI_SUM, win);
  MPI_Win_fence(0, win);
  for (int i = 0, at = 2000 * (kUnit / 4); i < kBytes / 4; ++i)
    check_of(((int*)window)[i] == i + (i >= at && i < at + kLong ? 7 : 0), "a large unit", "int", i);
  MPI_Win_free(&win);
}

int main(int argc, char** argv) {
  MPI_Win win;
  begin(&argc, &argv);
  window = on_gpu(kBytes);
  origins[0] = on_gpu(kBytes);
  results[0] = on_gpu(kBytes);
  origins[1] = malloc(kBytes);
  results[1] = malloc(kBytes);
  expected = malloc(kBytes);
  scratch = malloc(kBytes);
  MPI_Win_create(window, kBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  everything(win);
  at_once(win);
  derived(win);
  within(win);
  MPI_Win_free(&win);
  large_units();
  return end();
}
