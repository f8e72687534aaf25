/* What the MPI refuses of one-sided calls, with the origin and the target in memory of the host and of a GPU: the
 * window's error handler hears of it once, of the class that the MPI alone gives (the functions of the profiling
 * interface, which pass the drop-in by), and the job goes on. MPICH returns success for what it has refused where the
 * handler is a function of the program's. */
#define _GNU_SOURCE
#include <string.h>

#include "c_ranks.h"

enum { kLong = 64 };

static int heard, last;
static int here[kLong], there[kLong];
static int *mine, *theirs;             /* of a GPU, as long */
static MPI_Win alone, on_host, of_gpu; /* `alone` was made past the drop-in */

static void hear(MPI_Win* of, int* code, ...) {
  (void)of;
  ++heard;
  MPI_Error_class(*code, &last);
}

struct told {
  int class, heard, last;
};

static struct told told(int code) {
  struct told all = {-1, heard, last};
  MPI_Error_class(code, &all.class);
  return all;
}

static void compare(const char* what, int turn, struct told expected, struct told now) {
  if (memcmp(&expected, &now, sizeof now) != 0)
    give_up(
        "%s, origin in %s memory, target in %s memory: class %d, heard %d times, of class %d; by the MPI alone "
        "%d, %d, %d",
        what, turn % 2 == 1 ? "host" : "GPU", turn < 3 ? "host" : "GPU", now.class, now.heard, now.last,
        expected.class, expected.heard, expected.last);
}

/* A call of `win` with `in` and `out`: of the MPI alone, then with each of the kinds of memory. */
#define TRY(what, function, ...)                                                                            \
  do {                                                                                                      \
    struct told expected;                                                                                   \
    for (int turn = 0; turn < 5; ++turn) {                                                                  \
      int *const in = turn == 2 || turn == 4 ? mine : here, *const out = in == mine ? theirs : there;       \
      const MPI_Win win = turn == 0 ? alone : turn < 3 ? on_host : of_gpu;                                  \
      MPI_Request request, *const made = &request;                                                          \
      (void)in, (void)out, (void)made, (void)win;                                                           \
      memset(&request, 0x5a, sizeof request);                                                               \
      heard = last = 0;                                                                                     \
      const struct told now = told(turn == 0 ? PMPI_##function(__VA_ARGS__) : MPI_##function(__VA_ARGS__)); \
      if (turn == 0)                                                                                        \
        expected = now;                                                                                     \
      else                                                                                                  \
        compare(what, turn, expected, now);                                                                 \
    }                                                                                                       \
  } while (0)

static void refused(void) {
  TRY("put, rank", Put, in, 4, MPI_INT, ranks, 0, 4, MPI_INT, win);
  TRY("put, negative", Put, in, -1, MPI_INT, right, 0, 4, MPI_INT, win);
  TRY("put, negative there", Put, in, 4, MPI_INT, right, 0, -4, MPI_INT, win);
  TRY("put, displacement", Put, in, 4, MPI_INT, right, -4, 4, MPI_INT, win);
  TRY("put, type", Put, in, 4, MPI_DATATYPE_NULL, right, 0, 4, MPI_INT, win);
  TRY("put, type there", Put, in, 4, MPI_INT, right, 0, 4, MPI_DATATYPE_NULL, win);
  TRY("put, window", Put, in, 4, MPI_INT, right, 0, 4, MPI_INT, MPI_WIN_NULL);
  TRY("get, rank", Get, out, 4, MPI_INT, ranks, 0, 4, MPI_INT, win);
  TRY("get, type", Get, out, 4, MPI_DATATYPE_NULL, right, 0, 4, MPI_INT, win);
  TRY("get, type there", Get, out, 4, MPI_INT, right, 0, 4, MPI_DATATYPE_NULL, win);
  TRY("rput, rank", Rput, in, 4, MPI_INT, ranks, 0, 4, MPI_INT, win, made);
  TRY("rput, type", Rput, in, 4, MPI_DATATYPE_NULL, right, 0, 4, MPI_INT, win, made);
  TRY("rget, type there", Rget, out, 4, MPI_INT, right, 0, 4, MPI_DATATYPE_NULL, win, made);
  TRY("accumulate, rank", Accumulate, in, 4, MPI_INT, ranks, 0, 4, MPI_INT, MPI_SUM, win);
  TRY("accumulate, operator", Accumulate, in, 4, MPI_INT, right, 0, 4, MPI_INT, MPI_OP_NULL, win);
  TRY("accumulate, type", Accumulate, in, 4, MPI_DATATYPE_NULL, right, 0, 4, MPI_INT, MPI_SUM, win);
  TRY("accumulate, type there", Accumulate, in, 4, MPI_INT, right, 0, 4, MPI_DATATYPE_NULL, MPI_SUM, win);
  TRY("accumulate, negative", Accumulate, in, -4, MPI_INT, right, 0, 4, MPI_INT, MPI_SUM, win);
  TRY("raccumulate, operator", Raccumulate, in, 4, MPI_INT, right, 0, 4, MPI_INT, MPI_OP_NULL, win, made);
  TRY("get_accumulate, operator", Get_accumulate, in, 4, MPI_INT, out, 4, MPI_INT, right, 0, 4, MPI_INT, MPI_OP_NULL,
      win);
#ifndef OPEN_MPI /* which does not look at it */
  TRY("get_accumulate, result's type", Get_accumulate, in, 4, MPI_INT, out, 4, MPI_DATATYPE_NULL, right, 0, 4,
      MPI_INT, MPI_SUM, win);
#endif
  TRY("rget_accumulate, rank", Rget_accumulate, in, 4, MPI_INT, out, 4, MPI_INT, ranks, 0, 4, MPI_INT, MPI_SUM, win,
      made);
#ifndef OPEN_MPI /* which crashes, alone too */
  TRY("fetch_and_op, operator", Fetch_and_op, in, out, MPI_INT, right, 0, MPI_OP_NULL, win);
#endif
  TRY("fetch_and_op, type", Fetch_and_op, in, out, MPI_DATATYPE_NULL, right, 0, MPI_SUM, win);
  TRY("compare_and_swap, rank", Compare_and_swap, in, in + 1, out, MPI_INT, ranks, 0, win);
  TRY("compare_and_swap, type", Compare_and_swap, in, in + 1, out, MPI_DATATYPE_NULL, right, 0, win);
}

static void no_epoch(void) {
  TRY("put without an epoch", Put, in, 4, MPI_INT, right, 0, 4, MPI_INT, win);
  TRY("accumulate without an epoch", Accumulate, in, 4, MPI_INT, right, 0, 4, MPI_INT, MPI_SUM, win);
  TRY("flush without an epoch", Win_flush, right, win);
}

int main(int argc, char** argv) {
  MPI_Errhandler handler;
  begin(&argc, &argv);
  static int window[2][kLong];
  int* const on_gpus = on_gpu(sizeof window[0]);
  mine = on_gpu(kLong * sizeof(int));
  theirs = on_gpu(kLong * sizeof(int));
  memset(mine, 0, kLong * sizeof(int));
  for (int i = 0; i < kLong; ++i) there[i] = theirs[i] = i;
  memset(on_gpus, 0, sizeof window[0]);
  MPI_Win_create_errhandler(hear, &handler);
  PMPI_Win_create(window[0], sizeof window[0], sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &alone);
  MPI_Win_create(window[1], sizeof window[1], sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &on_host);
  MPI_Win_create(on_gpus, sizeof window[0], sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &of_gpu);
  MPI_Win* const all[] = {&alone, &on_host, &of_gpu};
  for (int own = 0; own < 2; ++own) {
    for (int i = 0; i < 3; ++i) MPI_Win_set_errhandler(*all[i], own ? handler : MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* of calls that name no window */
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    no_epoch();
    for (int i = 0; i < 3; ++i) MPI_Win_lock_all(0, *all[i]);
    refused();
    for (int i = 0; i < 3; ++i) MPI_Win_unlock_all(*all[i]);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Errhandler_free(&handler);
  for (int i = 0; i < 3; ++i) MPI_Win_free(all[i]);
  for (int i = 0; i < kLong; ++i) {
    check(on_gpus[i] == 0 && window[1][i] == 0, "a target, written by a call that was refused", i);
    check(there[i] == i && theirs[i] == i, "a result, written by a call that was refused", i);
  }
  free_on_gpu(on_gpus);
  free_on_gpu(mine);
  free_on_gpu(theirs);
  return end();
}
