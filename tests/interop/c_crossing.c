/* Two threads of rank 1 are in calls of two windows, or files, of the same ranks, in another order than rank 0, which
 * receives into GPU memory meanwhile: rank 1 sends only when rank 0 has been in its first call for a while, and comes
 * to that one behind its message. Arguments: a file, then what is made twice. */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "c_ranks.h"

enum { kNumbers = 1 << 20, kTag = 3, kWhile = 200000 /* microseconds */ };

struct shared {
  MPI_Win window;
  MPI_File file;
  char memory[100];
};

static const char* name;

static void make(const char* what, struct shared* shared) {
  void* base;
  shared->window = MPI_WIN_NULL;
  shared->file = MPI_FILE_NULL;
  if (!strcmp(what, "Win_allocate"))
    MPI_Win_allocate(100, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &shared->window);
  else if (!strcmp(what, "Win_create"))
    MPI_Win_create(shared->memory, 100, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &shared->window);
  else if (!strcmp(what, "File_open"))
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &shared->file);
  else
    give_up("cannot be made: %s", what);
}

static void* call(void* of) {
  struct shared* const shared = of;
  if (shared->window != MPI_WIN_NULL)
    MPI_Win_fence(0, shared->window);
  else
    MPI_File_set_size(shared->file, 100);
  return NULL;
}

static void end_shared(struct shared* shared) {
  if (shared->window != MPI_WIN_NULL)
    MPI_Win_free(&shared->window);
  else
    MPI_File_close(&shared->file);
}

static void try(const char* what, int* sent, int* received) {
  struct shared first, second;
  MPI_Request request;
  pthread_t thread;
  make(what, &first);
  make(what, &second);
  for (int i = 0; i < kNumbers; ++i) received[i] = -1;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Irecv(received, kNumbers, MPI_INT, 1, kTag, MPI_COMM_WORLD, &request);
    call(&first);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < kNumbers; ++i) check(received[i] == 1000 + i, what, received[i]);
    call(&second);
  } else {
    if (pthread_create(&thread, NULL, &call, &second) != 0) abort();
    usleep(kWhile);
    MPI_Send(sent, kNumbers, MPI_INT, 0, kTag, MPI_COMM_WORLD);
    call(&first);
    pthread_join(thread, NULL);
  }
  end_shared(&first);
  end_shared(&second);
}

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  know_ranks();
  if (provided < MPI_THREAD_MULTIPLE) {
    if (rank == 0) fputs("no such threads\n", stdout);
    MPI_Finalize();
    return 0;
  }
  name = argv[1];
  int* const sent = on_gpu(kNumbers * sizeof(int));
  int* const received = on_gpu(kNumbers * sizeof(int));
  for (int i = 0; i < kNumbers; ++i) sent[i] = 1000 * rank + i;
  /* From here on messages of GPUs are announced. */
  MPI_Sendrecv(sent, kNumbers, MPI_INT, right, 1, received, kNumbers, MPI_INT, left, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  for (int i = 2; i < argc; ++i) try(argv[i], sent, received);
  return end();
}
