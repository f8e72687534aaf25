/* What becomes of windows of GPU memory around their calls: memory that is freed after each, communicators with
 * attributes, and threads that wait for different locks. argv[1]: which. */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "c_ranks.h"

enum { kLength = 1 << 20 };

/* Shared memory that this process has mapped, in MiB. */
static long mapped(void) {
  FILE* const maps = fopen("/proc/self/maps", "r");
  unsigned long first, last, bytes = 0;
  char line[4096];
  if (maps == NULL) return -1;
  while (fgets(line, sizeof line, maps) != NULL)
    if (strstr(line, "memfd:") != NULL && sscanf(line, "%lx-%lx", &first, &last) == 2) bytes += last - first;
  fclose(maps);
  return (long)(bytes >> 20);
}

/* A window over new memory each time. */
static void once(int turn) {
  MPI_Win win;
  int* const memory = on_gpu(kLength * sizeof(int));
  MPI_Win_create(memory, kLength * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_fence(0, win);
  MPI_Put(&turn, 1, MPI_INT, right, kLength - 1, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  check(memory[kLength - 1] == turn, "a put", memory[kLength - 1]);
  MPI_Win_free(&win);
  free_on_gpu(memory);
}

static void freed(void) {
  once(0);
  const long before = mapped();
  for (int i = 1; i < 12; ++i) once(i);
  check(before >= 0 && mapped() <= before + 8, "MiB more are mapped", (int)(mapped() - before));
}

static int copies;
static int copied(MPI_Comm comm, int keyval, void* state, void* value, void* made, int* flag) {
  (void)comm, (void)keyval, (void)state;
  ++copies;
  *(void**)made = value;
  *flag = 1;
  return MPI_SUCCESS;
}
static void attributes(void) {
  MPI_Win win;
  int keyval;
  int* const memory = on_gpu(4096);
  MPI_Comm_create_keyval(copied, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
  MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &copies);
  MPI_Win_create(memory, 4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
  MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval);
  check(copies <= 1, "copies of an attribute, of which the MPI makes one", copies);
}

/* Rank 2 holds the lock of its own memory until rank 0 has left that of rank 1: another thread of rank 0 waits for
 * the former meanwhile. */
static MPI_Win shared;
static void* waits_for_another(void* unused) {
  int nothing = 0;
  const int value = 22;
  (void)unused;
  MPI_Recv(&nothing, 1, MPI_INT, 2, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, shared);
  MPI_Put(&value, 1, MPI_INT, 2, 0, 1, MPI_INT, shared);
  MPI_Win_unlock(2, shared);
  return NULL;
}
static void locks(void) {
  int nothing = 0;
  const int value = 11;
  pthread_t thread;
  int* const memory = on_gpu(4096);
  memset(memory, 0, 4096);
  MPI_Win_create(memory, 4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &shared);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, shared);
    MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, shared);
    MPI_Win_flush(1, shared);
    pthread_create(&thread, NULL, waits_for_another, NULL);
    MPI_Send(&nothing, 1, MPI_INT, 2, 2, MPI_COMM_WORLD);
    usleep(100000); /* the other thread is waiting */
    MPI_Put(&value, 1, MPI_INT, 1, 4, 1, MPI_INT, shared);
    MPI_Win_unlock(1, shared);
    MPI_Send(&nothing, 1, MPI_INT, 2, 3, MPI_COMM_WORLD);
    pthread_join(thread, NULL);
  } else if (rank == 2) {
    MPI_Recv(&nothing, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, shared);
    MPI_Put(&nothing, 1, MPI_INT, 2, 8, 1, MPI_INT, shared);
    MPI_Win_flush(2, shared);
    MPI_Send(&nothing, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    MPI_Recv(&nothing, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Win_unlock(2, shared);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&shared);
  check(memory[0] == 11 * rank && memory[1] == (rank == 1 ? 11 : 0), "what was put", memory[0]);
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  know_ranks();
  if (!strcmp(argv[1], "freed")) freed();
  if (!strcmp(argv[1], "attributes")) attributes();
  if (!strcmp(argv[1], "locks") && provided == MPI_THREAD_MULTIPLE) locks();
  return end();
}
