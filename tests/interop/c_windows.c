/* One-sided communication from C between memory of GPUs and of the host, and checks of what comes.
 * test_c_windows.py compiles it for each MPI. argv[1]: which ranks have a window in GPU memory: all, none, even. */
#define _GNU_SOURCE
#include <string.h>

#include "c_ranks.h"

enum { kLength = 40000, kTimes = 300 / kLess };

static void fill(int* numbers, int first, int step) {
  for (int i = 0; i < kLength; ++i) numbers[i] = first + step * i;
}
static void expect(const int* numbers, int first, int step, const char* what) {
  for (int i = 0; i < kLength; ++i) check(numbers[i] == first + step * i, what, numbers[i]);
}

static void fences(MPI_Win win, int* window, int* mine) {
  fill(window, -1, 0);
  MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
  fill(mine, 1000 * rank, 1);
  MPI_Put(mine, kLength, MPI_INT, right, 0, kLength, MPI_INT, win);
  MPI_Win_fence(0, win);
  expect(window, 1000 * left, 1, "put and fence");
  fill(mine, -1, 0);
  MPI_Win_fence(0, win);
  MPI_Get(mine, kLength, MPI_INT, right, 0, kLength, MPI_INT, win);
  MPI_Win_fence(0, win);
  expect(mine, 1000 * rank, 1, "get and fence");
  fill(window, rank, 0);
  fill(mine, 1, 0);
  MPI_Win_fence(0, win);
  for (int each = 0; each < ranks; ++each)
    MPI_Accumulate(mine, kLength, MPI_INT, each, 0, kLength, MPI_INT, MPI_SUM, win);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  expect(window, rank + ranks, 0, "accumulate and fence");
}

/* Every second element here to every third there, and back; nothing between is touched. */
static void strided(MPI_Win win, int* window, int* mine) {
  enum { kCount = 1000 };
  MPI_Datatype second, third;
  MPI_Type_vector(kCount, 1, 2, MPI_INT, &second);
  MPI_Type_vector(kCount, 1, 3, MPI_INT, &third);
  MPI_Type_commit(&second);
  MPI_Type_commit(&third);
  fill(window, -1, 0);
  fill(mine, 1000 * rank, 1);
  MPI_Win_fence(0, win);
  MPI_Put(mine, 1, second, right, 5, 1, third, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < kLength; ++i) {
    const int at = i - 5, hit = at >= 0 && at % 3 == 0 && at / 3 < kCount;
    check(window[i] == (hit ? 1000 * left + at / 3 * 2 : -1), "a put of strides", i);
  }
  fill(mine, -7, 0);
  MPI_Win_fence(0, win);
  MPI_Get(mine + 1, 1, second, right, 5, 1, third, win);
  MPI_Get(mine, 1, second, right, 5, 1, third, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < 2 * kCount; ++i) check(mine[i] == 1000 * rank + i / 2 * 2, "a get of strides", i);
  for (int i = 2 * kCount; i < kLength; ++i) check(mine[i] == -7, "behind a get of strides", i);
  fill(mine, 10, 0);
  MPI_Win_fence(0, win);
  MPI_Accumulate(mine, 1, second, right, 5, 1, third, MPI_SUM, win);
  MPI_Type_free(&second);
  MPI_Type_free(&third);
  MPI_Win_fence(0, win);
  for (int i = 0; i < kLength; ++i) {
    const int at = i - 5, hit = at >= 0 && at % 3 == 0 && at / 3 < kCount;
    check(window[i] == (hit ? 1000 * left + at / 3 * 2 + 10 : -1), "an accumulate of strides", i);
  }
}

/* To the right, and from the left; a post that comes late. */
static void posts(MPI_Win win, int* window, int* mine) {
  MPI_Group all, to, from;
  MPI_Win_get_group(win, &all);
  MPI_Group_incl(all, 1, &right, &to);
  MPI_Group_incl(all, 1, &left, &from);
  for (int turn = 0; turn < 20; ++turn) {
    fill(mine, rank * 100 + turn, 3);
    if (turn % 4 == 0)
      for (volatile int i = 0; i < 1000000 * rank; ++i) {
      }
    fill(window, -5, 0); /* which must be over before anything comes */
    MPI_Win_post(from, 0, win);
    MPI_Win_start(to, 0, win);
    MPI_Put(mine, kLength, MPI_INT, right, 0, kLength, MPI_INT, win);
    MPI_Win_complete(win);
    if (turn % 2 == 0) {
      MPI_Win_wait(win);
    } else {
      for (int flag = 0; !flag;) MPI_Win_test(win, &flag);
    }
    expect(window, left * 100 + turn, 3, "put and complete");
  }
  MPI_Group_free(&all);
  MPI_Group_free(&to);
  MPI_Group_free(&from);
}

static void locks(MPI_Win win, int* window, int* mine) {
  const int one = 1;
  int* const result = mine + 8;
  memset(window, 0, kLength * sizeof(int));
  MPI_Barrier(MPI_COMM_WORLD);
  /* Counters that all count at rank 0: in three ways. */
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < kTimes; ++i) {
    mine[0] = 1;
    MPI_Fetch_and_op(mine, result, MPI_INT, 0, 0, MPI_SUM, win);
    MPI_Accumulate(&one, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_flush(0, win);
    check(*result >= i && *result < ranks * kTimes, "fetch and add", *result);
  }
  for (int i = 0; i < kTimes;) {
    mine[0] = i == 0 ? 0 : *result;
    int compare, next;
    MPI_Fetch_and_op(NULL, &compare, MPI_INT, 0, 2, MPI_NO_OP, win);
    MPI_Win_flush(0, win);
    next = compare + 1;
    MPI_Compare_and_swap(&next, &compare, result, MPI_INT, 0, 2, win);
    MPI_Win_flush(0, win);
    i += *result == compare;
  }
  MPI_Win_unlock_all(win);
  for (int i = 0; i < kTimes; ++i) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Get(mine, 1, MPI_INT, 0, 3, 1, MPI_INT, win);
    MPI_Win_flush(0, win);
    ++*mine;
    MPI_Put(mine, 1, MPI_INT, 0, 3, 1, MPI_INT, win);
    MPI_Win_unlock(0, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
  fill(mine, -1, 0);
  MPI_Get(mine, 4, MPI_INT, 0, 0, 4, MPI_INT, win);
  MPI_Win_flush_local(0, win);
  for (int i = 0; i < 4; ++i) check(mine[i] == ranks * kTimes, "a counter", mine[i]);
  MPI_Win_unlock(0, win);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* What ends calls to nobody ends none to others: what is to come from there comes where those end. */
static void nobody(MPI_Win win, int* window, int* mine) {
  MPI_Datatype second; /* which an MPI may have the target send, and later */
  MPI_Type_vector(kLength / 2, 1, 2, MPI_INT, &second);
  MPI_Type_commit(&second);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  for (int turn = 0; turn < 2; ++turn) {
    fill(window, 1000 * rank + turn, 1);
    fill(mine, -1, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
    const int other = MPI_Win_lock(MPI_LOCK_SHARED, MPI_PROC_NULL, 0, win) == MPI_SUCCESS;
    MPI_Get(mine, 1, second, right, 0, 1, second, win);
#ifndef OPEN_MPI /* whose own takes this for a rank */
    if (turn == 0) MPI_Win_flush(MPI_PROC_NULL, win);
#endif
    if (other) MPI_Win_unlock(MPI_PROC_NULL, win);
    if (turn == 0) {
      MPI_Win_flush(right, win);
      for (int i = 0; i < kLength; ++i)
        check(mine[i] == (i % 2 == 0 ? 1000 * right + i : -1), "a get, and a flush of nobody", i);
    }
    MPI_Win_unlock(right, win);
    for (int i = 0; i < kLength; ++i)
      check(mine[i] == (i % 2 == 0 ? 1000 * right + turn + i : -1), "a get, and the end of a lock of nobody", i);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Win_set_errhandler(win, MPI_ERRORS_ARE_FATAL);
  MPI_Type_free(&second);
}

static void requests(MPI_Win win, int* window, int* mine) {
  MPI_Request request[2];
  int* const result = mine + kLength / 2;
  fill(window, rank, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  fill(mine, 7, 0);
  MPI_Rput(mine, 100, MPI_INT, right, 0, 100, MPI_INT, win, &request[0]);
  MPI_Raccumulate(mine, 100, MPI_INT, right, 100, 100, MPI_INT, MPI_SUM, win, &request[1]);
  MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
  MPI_Win_flush(right, win);
  MPI_Rget(result, 100, MPI_INT, right, 0, 100, MPI_INT, win, &request[0]);
  MPI_Wait(&request[0], MPI_STATUS_IGNORE);
  for (int i = 0; i < 100; ++i) check(result[i] == 7, "rput and rget", result[i]);
  MPI_Rget_accumulate(mine, 100, MPI_INT, result, 100, MPI_INT, right, 100, 100, MPI_INT, MPI_REPLACE, win,
                      &request[0]);
  MPI_Wait(&request[0], MPI_STATUS_IGNORE);
  for (int i = 0; i < 100; ++i) check(result[i] == right + 7, "raccumulate", result[i]);
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 200; ++i) check(window[i] == 7, "replaced", window[i]);
  check(window[200] == rank, "behind what was replaced", window[200]);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Of a target whose memory others cannot reach: it would not see what comes while it takes no part. */
static void passive(MPI_Win win, int* window, int* mine) {
  void* model = NULL;
  int flag = 0;
  MPI_Win_get_attr(win, MPI_WIN_MODEL, &model, &flag);
  check(flag && *(int*)model == MPI_WIN_SEPARATE, "the model", flag);
  fill(window, rank, 0);
  fill(mine, 7, 0);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Win_fence(0, win);
  MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
  check(MPI_Put(mine, 1, MPI_INT, right, 0, 1, MPI_INT, win) != MPI_SUCCESS, "a put without its target", 0);
  MPI_Win_unlock(right, win);
  MPI_Win_lock_all(0, win);
  check(MPI_Accumulate(mine, 1, MPI_INT, right, 0, 1, MPI_INT, MPI_SUM, win) != MPI_SUCCESS, "an accumulate", 0);
  MPI_Win_unlock_all(win);
  MPI_Win_fence(0, win);
  expect(window, rank, 0, "what was refused");
  MPI_Put(mine, 1, MPI_INT, right, 0, 1, MPI_INT, win);
  window[1] = rank + 5; /* beside what comes */
  MPI_Win_fence(0, win);
  check(window[0] == 7 && window[1] == rank + 5, "a put and a store beside it", window[0]);
}

static void wrong(MPI_Win win, const int* window, int* mine) {
  int class = 0, flag = 0, code;
  void* base = NULL;
  MPI_Aint* size = NULL;
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Win_fence(0, win);
  MPI_Put(mine, 0, MPI_INT, right, 0, 0, MPI_INT, win);
  MPI_Put(mine, kLength, MPI_INT, MPI_PROC_NULL, 0, kLength, MPI_INT, win);
  MPI_Win_fence(0, win);
  MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag);
  check(flag && base == (const void*)window, "the window's base", flag);
  MPI_Win_get_attr(win, MPI_WIN_SIZE, &size, &flag);
  check(flag && *size == (MPI_Aint)(kLength * sizeof(int)), "the window's size", flag);
  MPI_Win_fence(0, win);
  code = MPI_Put(mine, 2, MPI_INT, 0, kLength - 1, 2, MPI_INT, win);
  MPI_Win_fence(0, win);
  if (getenv("EXPECT_RANGE") != NULL) {
    if (code != 0) MPI_Error_class(code, &class);
    check(class == MPI_ERR_RMA_RANGE, "a put out of range", code);
  }
}

int main(int argc, char** argv) {
  MPI_Win win;
  begin(&argc, &argv);
  const char* const where = argc > 1 ? argv[1] : "all";
  const int gpu = !strcmp(where, "all") || (!strcmp(where, "even") && rank % 2 == 0);
  const size_t bytes = kLength * sizeof(int);
  int* const window = gpu ? on_gpu(bytes) : malloc(bytes);
  for (int origin = 0; origin < 2; ++origin) {
    int* const mine = origin == 0 ? on_gpu(bytes) : malloc(bytes);
    MPI_Win_create(window, (MPI_Aint)bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    fences(win, window, mine);
    strided(win, window, mine);
    posts(win, window, mine);
    if (getenv("OUT_OF_REACH") == NULL) {
      locks(win, window, mine);
      if (origin == 0 && strcmp(where, "all") != 0) nobody(win, window, mine); /* staged, of some ranks */
      requests(win, window, mine);
    } else if (!strcmp(where, "all")) {
      passive(win, window, mine);
    }
    if (!strcmp(where, "all")) wrong(win, window, mine);
    MPI_Win_free(&win);
  }
  return end();
}
