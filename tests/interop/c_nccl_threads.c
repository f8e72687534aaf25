/* Programs of NCCL whose threads come to it at the same time. */
#define _GNU_SOURCE
#include "c_nccl.h"

#include <pthread.h>
#include <sys/wait.h>

enum { kThreads = 2, kNumbers = 1000 };
static ncclUniqueId id_of_threads;
static bool is_awaited; /* that the drop-in attaches */
static pthread_barrier_t attaching;

/* The tests' NCCL is asked so by the drop-in alone, while it attaches. */
void asked_for_version(void);
void asked_for_version(void) {
  if (!is_awaited) return;
  /* What else calls NCCL in this thread now does not wait for the drop-in. */
  check(ncclGroupStart(), "start of a group meanwhile");
  check(ncclGroupEnd(), "end of a group meanwhile");
  pthread_barrier_wait(&attaching);
  usleep(100000);
}

static void* be_rank(void* number) {
  const int own = *(int*)number;
  ncclComm_t mine = NULL;
  if (own != 0 && is_awaited) pthread_barrier_wait(&attaching);
  check(ncclCommInitRank(&mine, kThreads, id_of_threads, own), "init of a thread");
  float* const data =
      sennit_emulated_allocate != NULL ? sennit_emulated_allocate(own, sizeof(float) * kNumbers) : NULL;
  float* const both = data != NULL ? data : calloc(kNumbers, sizeof(float));
  for (size_t i = 0; i < kNumbers; ++i) both[i] = value(own, i);
  check(ncclAllReduce(both, both, kNumbers, ncclFloat, ncclSum, mine, NULL), "allreduce of threads");
  expect_sums(both, kNumbers, "allreduce of threads");
  check(ncclCommDestroy(mine), "destroy of a thread");
  return NULL;
}

/* Its own for each process that runs this test: they are jobs that know nothing of each other. */
static ncclUniqueId id_of_another_process(void) {
  char name[32];
  snprintf(name, sizeof name, "id-%d", rank);
  const pid_t child = fork();
  if (child == 0) {
    (void)meet_by(name, true, NULL);
    _exit(0);
  }
  int status = 1;
  expect(waitpid(child, &status, 0) == child && status == 0, "another process", (size_t)status);
  return meet_by(name, false, NULL);
}

/* One that begins with a call of each thread, the second one while the drop-in attaches for the first. */
void at_once(void) {
  pthread_t threads[kThreads];
  int numbers[kThreads];
  size = kThreads;
  id_of_threads = id_of_another_process();
  is_awaited = sennit_leave_to_nccl != NULL;
  pthread_barrier_init(&attaching, NULL, 2);
  for (int i = 0; i < kThreads; ++i) {
    numbers[i] = i;
    pthread_create(&threads[i], NULL, be_rank, &numbers[i]);
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  printf("all right\n");
}
