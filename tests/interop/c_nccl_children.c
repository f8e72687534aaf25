/* Programs of NCCL about communicators that are made of others: divided, shrunk and grown. */
#define _GNU_SOURCE
#include "c_nccl.h"

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

#ifndef OLD
/* Of the ranks but the last, which begins alone, and comes in; then a part of all. */
static void grow(ncclConfig_t* config) {
  const int before = size - 1;
  const bool old = rank < before, bridge = rank == before - 1;
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
  if (bridge || !old) id = meet_by("more", bridge, comm);
  state = ncclCommGrow(comm, size, bridge || !old ? &id : NULL, old ? -1 : rank, &all, config);
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
