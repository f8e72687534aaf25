/* What the programs of MPI in C here have in common: who this rank is, memory of GPUs, and what is said of a mistake.
 * A program includes it once, and defines _GNU_SOURCE before. */
#pragma once

#include <dlfcn.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* By how much less a program repeats itself under a sanitizer, where all takes ten times as long: it says of the
 * first time what it would of the tenth. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { kLess = 4 };
#else
enum { kLess = 1 };
#endif

static int rank, ranks;
static int left, right; /* the ranks before and behind it, in a ring */

/* Once MPI has begun. */
static inline void know_ranks(void) {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  left = (rank + ranks - 1) % ranks;
  right = (rank + 1) % ranks;
}

static inline void begin(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  know_ranks();
}

/* What main returns, where all is as it should be. */
static inline int end(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  /* At once: puts writes its newline by itself where nothing is buffered, and another rank's words may come between.
   */
  if (rank == 0) fputs("all arrived\n", stdout);
  MPI_Finalize();
  return 0;
}

/* Says what is wrong, as printf does, and ends the job. */
__attribute__((format(printf, 1, 2))) static inline void give_up(const char* format, ...) {
  va_list values;
  va_start(values, format);
  printf("rank %d: wrong: ", rank);
  vprintf(format, values);
  putchar('\n');
  fflush(stdout);
  va_end(values);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static inline void check(int holds, const char* what, int number) {
  if (!holds) give_up("%s, %d", what, number);
}

/* As the drop-in believes; the host's where there is none. */
static inline void* on_gpu(size_t bytes) {
  void* (*allocate)(int, size_t) = NULL;
  *(void**)&allocate = dlsym(RTLD_DEFAULT, "sennit_emulated_allocate");
  void* const made = allocate != NULL ? allocate(rank % 4, bytes) : malloc(bytes);
  if (made == NULL) give_up("no memory");
  return made;
}

static inline void free_on_gpu(void* data) {
  void (*release)(void*) = NULL;
  *(void**)&release = dlsym(RTLD_DEFAULT, "sennit_emulated_free");
  if (release != NULL)
    release(data);
  else
    free(data);
}
